import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn, SummaryRequest } from '../../../../src/agent/index.ts';
import { runTurn } from '../../../../src/daemon/message/run-turn.ts';
import { answerNow } from '../../../../src/daemon/message/steps.ts';
import { generateSessionId } from '../../../../src/daemon/session/session.ts';
import { aSession, aTurn } from '../../../contract/fixtures.ts';
import { saveSession } from '../../../contract/store-writes.ts';
import {
  aMessage,
  aTurnOf,
  ON_PLATFORM,
  person,
  personVerdict,
  type StepWorld,
  stepWorld,
} from '../../../support/step.ts';

/** The tokens of each exchange. The history has room for three exchanges. */
const EXCHANGE_TOKENS = 100;
const ROOM = 3 * EXCHANGE_TOKENS + 50;
const TIMEOUT_S = 60;

let world: StepWorld;
let seen: AgentTurn[];
let asked: SummaryRequest[];
/** How the runtime writes a summary. */
let sumUp: (request: SummaryRequest) => Promise<string>;
let count: number;

beforeEach(async () => {
  [seen, asked, count] = [[], [], 0];
  sumUp = async ({ exchanges }) => `They said ${exchanges.map(({ user }) => user.trim()).join(', ')}.`;
  world = await stepWorld({
    agent: {
      apiVersion: 1,
      async *run(turn: AgentTurn) {
        seen.push(turn);
        yield 'x'.repeat(EXCHANGE_TOKENS * 2);
      },
      summarize(request) {
        asked.push(request);
        return sumUp(request);
      },
    },
    env: {
      AGENT_HISTORY_TOKENS: String(ROOM),
      AGENT_TIMEOUT_SECONDS: String(TIMEOUT_S),
      AGENT_DAILY_TOKENS: '1000',
    },
  });
});

interface Sender {
  session_id?: string;
  sub?: string;
  user_id?: string;
  shared?: boolean;
  platform?: boolean;
}

/** Sends a message and waits for its reply. @returns the id of the session after the reply */
async function say(text: string, { session_id = 's', sub, user_id, shared, platform }: Sender = {}) {
  const id = ++count;
  const channel = platform ? ON_PLATFORM : {};
  const turn = aTurnOf(world, {
    ...channel,
    turn_id: `turn-${id}`,
    request_id: `request-${id}`,
    session_id,
    message: aMessage({
      text: text.padEnd(EXCHANGE_TOKENS * 2),
      thread_id: session_id,
      ...(user_id === undefined ? {} : { user_id }),
      ...(shared ? { shared } : {}),
      ...(sub === undefined ? {} : { metadata: { jwt_token: `token-of-${sub}` } }),
    }),
    validated: sub === undefined ? null : { token: `token-of-${sub}`, verdict: personVerdict(sub) },
  });
  const end = await runTurn(answerNow, turn, world.services);
  if (!end.answered) throw end.error;
  world.clock.moveTo(world.clock.now() + 1000);
  return end.reply.session_id;
}

async function sayAll(texts: readonly string[], sender?: Sender) {
  for (const text of texts) await say(text, sender);
  await world.services.summaries.idle();
}

const shown = () => ({
  summary: seen.at(-1)?.summary,
  history: seen.at(-1)?.history.map(({ user }) => user.trim()),
});
/** Stores a session that has no person and a generated id. @returns the id */
async function generatedSession(): Promise<string> {
  const session_id = generateSessionId('webchat', 'visitor');
  const members = { session_id, generated: true, user_id: 'visitor', platform: 'webchat' };
  await saveSession(world.store, aSession(world.clock.now(), members));
  return session_id;
}
const ADA = { sub: 'ada' };

describe('messages for which the history has no room', () => {
  it('are summarized after the reply, and later runs get the summary instead of them', async () => {
    await sayAll(['1', '2', '3'], ADA);
    expect(asked).toEqual([]);
    await sayAll(['4'], ADA);
    expect(asked).toMatchObject([{ summary: null, max_characters: 4000 }]);
    await sayAll(['5'], ADA);
    expect(shown()).toEqual({ summary: 'They said 1, 2, 3.', history: ['4'] });
    await sayAll(['6', '7'], ADA);
    expect(asked[1]).toMatchObject({ summary: 'They said 1, 2, 3.' });
    await sayAll(['8'], ADA);
    expect(shown()).toEqual({ summary: 'They said 4, 5, 6.', history: ['7'] });
  });

  it('never delay a reply or the next message, and are summarized by one call at a time', async () => {
    const never = Promise.withResolvers<string>();
    sumUp = () => never.promise;
    for (const text of ['1', '2', '3', '4', '5', '6']) await say(text, ADA);
    expect(seen).toHaveLength(6);
    expect(asked).toHaveLength(1);
    expect(shown()).toMatchObject({ summary: null });
    never.resolve('late');
    await world.services.summaries.idle();
    await say('7', ADA);
    // The summary does not cover later messages.
    expect(shown()).toEqual({ summary: 'late', history: ['4', '5', '6'] });
  });

  it('are summarized before a session has more turns than a run can get, even if the turns are short', async () => {
    world = await stepWorld({
      agent: world.services.agent,
      env: { AGENT_HISTORY_TOKENS: '1000000', RATE_LIMIT_TOKEN_MAX: '1000' },
    });
    await sayAll(
      Array.from({ length: 51 }, (_, n) => `${n}`),
      ADA,
    );
    expect(asked).toHaveLength(1);
    expect(asked[0]?.exchanges).toHaveLength(25);
    expect(shown().history).toHaveLength(25);
  });

  it('are recognized by their time as already summarized if the last summarized turn no longer exists', async () => {
    await sayAll(['1', '2', '3', '4'], ADA);
    const kept = await world.store.summaries.find('s', person('ada'));
    expect(kept).toMatchObject({ through_turn: 'turn-3' });
    const token = await world.store.summaries.begin('s', 1000);
    if (kept) await world.store.summaries.keep('s', token ?? '', { ...kept, through_turn: 'gone' });
    await say('5', ADA);
    expect(shown().history).toEqual(['4']);
  });
});

it('a message that the daemon answers without a run does not change the summary', async () => {
  await sayAll(['1', '2', '3', '4', '5'], ADA);
  const turn = {
    ...aTurnOf(world),
    session: aSession(world.clock.now(), { session_id: 's' }),
    session_origin: 'found' as const,
    principal: { person: person('ada'), claims: { sub: 'ada', email: 'ada@example.com', exp: 1 } },
    reply: 'Nothing waits.',
    stopped: false,
    asked: null,
    usage: null,
    history: null,
  };
  const record = aTurn({ person: person('ada'), text: 'x'.repeat(20 * ROOM) });
  world.services.summaries.afterTurn(turn as never, record);
  await world.services.summaries.idle();
  expect(asked).toHaveLength(1);
});

describe('the summary of a conversation', () => {
  it('is not given to another person in the same session', async () => {
    await sayAll(['1', '2', '3', '4'], ADA);
    await say('5', ADA);
    expect(shown().summary).toMatch(/^They said/);
    await say('6', { user_id: 'visitor' });
    expect(shown()).toEqual({ summary: null, history: [] });
  });

  it('is not given to a person who signs in to the anonymous session', async () => {
    const session_id = await generatedSession();
    await sayAll(['1', '2', '3', '4', '5'], { session_id });
    expect(shown().summary).toMatch(/^They said/);
    const renamed = await say('6', { session_id, ...ADA });
    expect(renamed).not.toBe(session_id);
    expect(seen.at(-1)?.summary).toBeNull();
    expect(seen.at(-1)?.history.every(({ before_sign_in }) => before_sign_in)).toBe(true);
  });

  it('contains nothing from before the sign-in of its person', async () => {
    const session_id = await generatedSession();
    await say('before', { session_id });
    const renamed = await say('1', { session_id, ...ADA });
    await sayAll(['2', '3', '4'], { session_id: renamed, ...ADA });
    expect(asked[0]?.exchanges.map(({ user }) => user.trim())).toEqual(['1', '2', '3']);
    await say('5', { session_id: renamed, ...ADA });
    expect(shown().history).toEqual(['before', '4']);
  });

  it('is also made for a user whom a platform has verified', async () => {
    await sayAll(['1', '2', '3', '4', '5'], { platform: true, user_id: 'U1' });
    expect(shown().summary).toMatch(/^They said/);
    expect(await world.store.summaries.find('s', 'telex:U1')).not.toBeNull();
  });

  it('is not made if the client chose the session id, or if several people share the session', async () => {
    await sayAll(['1', '2', '3', '4', '5']);
    await sayAll(['1', '2', '3', '4', '5'], { platform: true, shared: true, session_id: 'thread' });
    expect(asked).toEqual([]);
  });
});

describe('a summary that cannot be written', () => {
  const lastTrace = async () => (await world.store.traces.find('s')).at(-1);

  it('is reported in a trace and in the log, and is tried again later', async () => {
    sumUp = () => Promise.reject(new Error('the model is down'));
    await sayAll(['1', '2', '3', '4'], ADA);
    expect(await lastTrace()).toMatchObject({
      outcome: 'summarized',
      turn_id: 'turn-4',
      lines: [{ step: 'summarize', verdict: 'failed', reason: 'not_summarized' }],
    });
    expect(world.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'the history of a session could not be summarized' }),
    );
    await sayAll(['5'], ADA);
    expect(asked).toHaveLength(1);
    world.clock.moveTo(world.clock.now() + TIMEOUT_S * 1000);
    sumUp = async () => 'At last.';
    await sayAll(['6', '7'], ADA);
    expect(shown().summary).toBe('At last.');
  });

  it('is aborted at its time limit, or when the daemon stops', async () => {
    sumUp = () => new Promise(() => {});
    await sayAll.call(null, ['1', '2', '3'], ADA);
    await say('4', ADA);
    expect(asked[0]?.signal.aborted).toBe(false);
    world.clock.moveTo(world.clock.now() + TIMEOUT_S * 1000);
    await world.services.summaries.idle();
    expect(asked[0]?.signal.aborted).toBe(true);
    await say('5', ADA);
    const stopped = world.services.summaries.stop();
    expect(asked[1]?.signal.aborted).toBe(true);
    await stopped;
    await say('6', ADA);
    expect(asked).toHaveLength(2);
  });

  it('is not stored if the session has ended in the meantime', async () => {
    const going = Promise.withResolvers<string>();
    sumUp = () => going.promise;
    for (const text of ['1', '2', '3', '4']) await say(text, ADA);
    await world.store.sessions.end('s');
    going.resolve('too late');
    await world.services.summaries.idle();
    await sayAll(['5'], ADA);
    expect(shown()).toEqual({ summary: null, history: [] });
  });
});

describe('a summary', () => {
  it('has a limited length, and contains nothing that looks like a token', async () => {
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
    sumUp = async () => `${jwt} ${'y'.repeat(10_000)}`;
    await sayAll(['1', '2', '3', '4', '5'], ADA);
    expect(shown().summary).not.toContain('eyJ');
    expect(shown().summary?.length).toBeLessThanOrEqual(4000);
  });

  it('counts toward the token limit of its person, and its model call is in a trace', async () => {
    sumUp = async ({ meter }) => {
      const call = await meter.begin({ model: 'large', prompt_tokens: 500, max_output_tokens: 100 });
      if (call.ok) await call.end({ input_tokens: 500, output_tokens: 100 });
      return call.ok ? 'Short.' : '';
    };
    await sayAll(['1', '2', '3', '4'], ADA);
    const trace = (await world.store.traces.find('s')).at(-1);
    expect(trace?.lines).toMatchObject([
      { step: 'model', detail: { model: 'large', input_tokens: 500, output_tokens: 100 } },
      { step: 'summarize', verdict: 'ok', detail: { turns: 3 } },
    ]);
    const left = { id: 'r', tokens: 401, max: 1000, ttl_ms: 1 };
    expect(await world.store.budgets.reserve(person('ada'), left)).toMatchObject({
      granted: false,
      left: 400,
    });
  });
});
