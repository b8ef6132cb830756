import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import type { AgentRuntime, AgentTurn } from '../../../src/agent/index.ts';
import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { messageTraces } from '../../../src/cli/message-traces.ts';
import { createPushScope } from '../../../src/daemon/channels/scope.ts';
import { link, removeLink, unlink } from '../../../src/daemon/linking/links.ts';
import { fixedSource } from '../../../src/daemon/tools/registry.ts';
import { InboxProcess } from '../../support/inbox-process.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf, toolOf } from '../../support/tools.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

/* agentd-identity(7), "The question waits". */

const MINUTE = 60_000;
const USER = '700000001';
const URL = 'https://www.example.com/account';
const AT = new RegExp(`To continue, please sign in: .*${URL}.*\n\nThen I’ll answer your question\\.`, 's');

let clock: VirtualClock;
let platform: VirtualPlatform;
let directory: string;
let process: InboxProcess;
let number: number;
/** The runs of the agent, and the calls that were made. */
let turns: AgentTurn[];
let calls: string[];
/** Whether the API takes no token. */
let refuses: boolean;
/** What happens during a run. */
let during: () => Promise<void>;

/** Follows the words of the message: it calls the tools that they name, and says what came of it. */
const agent: AgentRuntime = {
  apiVersion: 1,
  async *run(turn) {
    turns.push(turn);
    await during();
    for (const word of turn.text.split(/\s+/)) {
      const [name, text] = word.split('=');
      const tool = turn.tools.find((one) => one.name === name);
      if (!tool) continue;
      const answer = await tool.call(text === undefined ? {} : { text });
      yield `${name}: ${answer.ok ? Object.values(answer.result as object) : answer.message} `;
    }
    yield 'That is all.';
  },
};

const source = sourceOf({}, 'https://api.example.com');
const tools = fixedSource(source, [
  toolOf({
    ...{ name: 'orders', source, credentials: 'user' },
    send: async (_, { person }) => {
      if (refuses) return { outcome: 'sign_in_needed' };
      calls.push(`orders of ${person?.sub}`);
      return { outcome: 'answered', status: 200, result: { of: person?.sub ?? null } };
    },
  }),
  toolOf({
    ...{ name: 'note', source, effect: 'write', credentials: 'none', confirm: 'never' },
    parameters: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    },
    send: async ({ text }) => {
      calls.push(`note ${text}`);
      return { outcome: 'answered', status: 200, result: {} };
    },
  }),
  toolOf({
    ...{ name: 'gift', source, effect: 'write', credentials: 'none', confirm: 'always' },
    send: async () => ({ outcome: 'answered', status: 200, result: {} }),
  }),
]);

async function start(env: Record<string, string> = {}): Promise<void> {
  process = await InboxProcess.start({
    ...{ directory, clock, platforms: [platform], agent, tools, inGroups: true },
    env: { SIGN_IN_URL: URL, ...env },
  });
  const started = process;
  onTestFinished(() => started.kill());
}

beforeEach(async () => {
  clock = new VirtualClock(Date.now());
  platform = await VirtualPlatform.of(msgbot);
  directory = fastStateDirectory();
  [turns, calls, number, refuses, during] = [[], [], 0, false, async () => {}];
});

function event(text: string, members: Partial<SimulatedEvent> = {}): SimulatedEvent {
  number++;
  return { kind: 'message', user: USER, text, place: 'direct', number, sent_at: clock.now(), ...members };
}
/** Writes to the bot. @returns the texts that the chat got since */
async function write(text: string, members?: Partial<SimulatedEvent>): Promise<string[]> {
  const sent = event(text, members);
  const before = platform.textsFor(sent).length;
  await process.deliver('msgbot', sent);
  await process.idle();
  return platform.textsFor(sent).slice(before);
}
const texts = () => platform.textsFor(event(''));
const signIn = async (sub = 'ada') => write(`/service_auth ${await token({ sub })}`, { kind: 'command' });
/** Links or unlinks without waking the worker. */
const linkQuietly = async (sub: string) =>
  link(process.services, msgbot, USER, await token({ sub }), undefined, 'token');
const pass = (ms: number) => process.passUntil(clock.now() + ms);
const isSaid = (text: string, sub: string) => text.includes(`orders: ${sub}`);

describe('a question that needs sign-in, in a private chat', () => {
  it('is answered with how to sign in, and is then answered for the person without being asked again', async () => {
    await start();
    const [reply] = await write('orders');
    expect(reply).toMatch(AT);
    await pass(39 * MINUTE);
    const answers = await signIn();
    expect(answers.filter((text) => isSaid(text, 'ada'))).toHaveLength(1);
    expect(answers.filter((text) => text.includes('signed in here'))).toHaveLength(1);
    expect(calls).toEqual(['orders of ada']);
    expect(turns.map(({ text, person }) => [text, person?.email])).toEqual([
      ['orders', undefined],
      ['orders', 'ada@example.com'],
    ]);
    expect(await signIn()).toHaveLength(1);
    expect(turns).toHaveLength(2);
  });

  it('says how the platform does it if there is no page, and asks to be asked again if it does not wait', async () => {
    await start({ SIGN_IN_URL: '', SIGN_IN_WAIT_SECONDS: '0' });
    const [reply] = await write('orders');
    expect(reply).toMatch(/To sign in, send .*\/service_auth.* Then ask me again\.$/s);
    expect(await signIn()).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  it('is forgotten after SIGN_IN_WAIT_SECONDS', async () => {
    await start();
    await write('orders');
    await pass(40 * MINUTE);
    expect(await signIn()).toHaveLength(1);
    expect(turns).toHaveLength(1);
  });

  it('is replaced by a newer one, but not by a message that needs no sign-in', async () => {
    await start();
    await write('orders first');
    await write('orders second');
    await write('hello');
    await signIn();
    expect(turns.at(-1)?.text).toBe('orders second');
    expect(calls).toEqual(['orders of ada']);
  });

  it('ends at sign-out, and when an operator makes or removes the link', async () => {
    await start();
    await write('orders');
    await write('/service_auth off', { kind: 'command' });
    expect(await signIn()).toHaveLength(1);
    await write('/service_auth off', { kind: 'command' });
    await write('orders');
    await link(process.services, msgbot, USER, await token(), undefined, 'operator');
    await pass(MINUTE);
    expect(calls).toEqual([]);
  });

  it('is not left by a run during which its sender deletes the message', async () => {
    await start();
    during = async () => {
      const [running] = await process.services.store.inbox.list({ states: ['running'], limit: 1 });
      const scope = createPushScope(msgbot, {}, { services: process.services, worker: process.worker });
      await scope.forget({ message_id: running?.message_id ?? '', user_id: USER });
    };
    const [reply] = await write('orders');
    expect(reply).toMatch(AT);
    expect(await signIn()).toHaveLength(1);
    expect(turns).toHaveLength(1);
  });

  it('is answered for a person who signs in while its run is going on', async () => {
    await start();
    during = async () => {
      during = async () => {};
      await linkQuietly('ada');
    };
    const [reply, answer] = await write('orders');
    expect(reply).toMatch(AT);
    expect(isSaid(answer ?? '', 'ada')).toBe(true);
    expect(turns.map(({ person }) => person?.email)).toEqual([undefined, 'ada@example.com']);
  });

  it('is not run again at once if its run already acted for the person', async () => {
    await start();
    await signIn();
    refuses = true;
    during = async () => {
      await linkQuietly('ada');
    };
    await write('orders');
    expect(turns.map(({ person }) => person?.email)).toEqual(['ada@example.com']);
  });

  it('acts for the person who signed in, or for nobody', async () => {
    await start();
    await write('orders');
    await linkQuietly('ada');
    await unlink(process.services, msgbot, USER);
    await linkQuietly('bob');
    process.worker.wake();
    await pass(MINUTE);
    expect(calls).toEqual([]);
    expect(turns).toHaveLength(1);
    expect(await process.services.store.inbox.list({ states: ['failed'], limit: 9 })).toMatchObject([
      { failure: 'session_forbidden: the sign-in of the sender has changed', reply: null, notice: null },
    ]);
  });

  it('is the same turn: what was written is not written again, and another write asks first', async () => {
    await start();
    await write('note=tea orders');
    expect(calls).toEqual(['note tea']);
    expect((await signIn()).filter((text) => isSaid(text, 'ada'))).toHaveLength(1);
    expect(calls).toEqual(['note tea', 'orders of ada']);
    expect(turns.at(-1)?.already_done).toMatchObject([{ tool: 'note', outcome: 'done' }]);
    // A model may word the call differently the second time.
    const [other] = await write('note=milk orders', { user: '700000002' });
    expect(other).toMatch(AT);
    const words = agent.run;
    agent.run = (turn) => words({ ...turn, text: 'note=coffee orders' });
    onTestFinished(() => {
      agent.run = words;
    });
    const second = await write(`/service_auth ${await token({ sub: 'bob' })}`, {
      kind: 'command',
      user: '700000002',
    });
    expect(second.at(-1)).toContain('Please confirm');
    expect(calls.slice(2)).toEqual(['note milk', 'orders of bob']);
  });

  it('is shown by `agentd explain` while it waits, and then with its second run', async () => {
    await start();
    await write('orders');
    const { store } = process.services;
    const [{ id = '', message_id = '' } = {}] = await store.inbox.list({ states: ['done'], limit: 1 });
    const [waiting] = (await messageTraces(store, { id }, 9)).shown;
    expect(waiting?.trace.lines.at(-1)).toMatchObject({
      reason: 'waits_for_sign_in',
      detail: { until: new Date(clock.now() + 40 * MINUTE).toISOString() },
    });
    await signIn();
    for (const named of [id, `msgbot:${message_id}`]) {
      const { shown } = await messageTraces(store, { id: named }, 9);
      expect(shown.map(({ trace }) => [trace.outcome, trace.rerun_of?.turn_id])).toEqual([
        ['answered', undefined],
        ['answered', id],
      ]);
      expect(shown[0]?.trace.lines.some(({ reason }) => reason === 'waits_for_sign_in')).toBe(false);
    }
  });

  it('is run a second time once, even if that run needs sign-in, too', async () => {
    await start();
    await write('orders');
    refuses = true;
    expect((await signIn()).filter((text) => text.includes('Then ask me again.'))).toHaveLength(1);
    await signIn();
    expect(turns).toHaveLength(2);
  });

  it('does not wait if it is the answer to a question of the daemon', async () => {
    await start();
    const words = agent.run;
    agent.run = (turn) => words(turn.confirmed_actions.length > 0 ? { ...turn, text: 'orders' } : turn);
    onTestFinished(() => {
      agent.run = words;
    });
    expect((await write('gift')).at(-1)).toContain('Please confirm');
    expect((await write('yes')).join()).toContain('Then ask me again.');
    expect(await signIn()).toHaveLength(1);
    expect(turns).toHaveLength(2);
  });

  it('is answered exactly once, whenever the daemon is killed', async () => {
    for (const when of ['before', 'after'] as const)
      for (let call = 1; ; call++) {
        clock = new VirtualClock(Date.now());
        directory = fastStateDirectory();
        platform = await VirtualPlatform.of(msgbot);
        [turns, calls] = [[], []];
        await start();
        await write('orders');
        process.dieAt(call, when);
        const signing = event(`/service_auth ${await token()}`, { kind: 'command' });
        await process.deliver('msgbot', signing);
        await pass(MINUTE);
        const died = process.isDead;
        await process.kill();
        await start();
        // The platform delivers the command again, because it was not acknowledged.
        await process.deliver('msgbot', signing).catch(() => {});
        await pass(10 * MINUTE);
        await process.deliver('msgbot', signing);
        await pass(MINUTE);
        const answers = new Set(texts().filter((text) => isSaid(text, 'ada')));
        expect(answers.size, `${when} write ${call}`).toBe(1);
        const ended = await process.services.store.inbox.list({ states: ['done'], limit: 99 });
        expect(
          ended.filter(({ rerun }) => rerun),
          `${when} write ${call}`,
        ).toHaveLength(1);
        await process.kill();
        if (!died) break;
      }
  });
});

describe('a question that needs sign-in, in a group', () => {
  const GROUP = { place: 'group' } as const;
  const inGroup = () => platform.textsFor(event('', GROUP));
  const WRITTEN = 'To continue, please sign in first. I have written to you privately.';
  /** The platform refuses messages to the person alone. */
  const refusePrivately = (response: () => Response) => {
    platform.outage = ({ path, body }) =>
      path.endsWith('/sendMessage') && JSON.parse(body).chat_id === Number(USER) ? response() : null;
  };
  const forbidden = () =>
    new Response(
      JSON.stringify({
        ok: false,
        error_code: 403,
        description: "Forbidden: bot can't initiate conversation",
      }),
      { status: 403 },
    );

  it('is answered privately, and the group hears only that it was', async () => {
    await start();
    expect(await write('orders', GROUP)).toEqual([expect.stringContaining(WRITTEN)]);
    expect(inGroup()[0]).not.toContain(URL);
    expect(texts()[0]).toMatch(/asked me something in a group.*/s);
    expect(texts()[0]).toMatch(AT);
    expect((await signIn()).filter((text) => isSaid(text, 'ada'))).toHaveLength(1);
    await pass(MINUTE);
    expect(inGroup().slice(1)).toEqual(['I’ve answered the question privately.']);
    const [{ message, shared } = {}] = [turns.at(-1)].map((turn) => ({
      message: turn?.text,
      shared: turn?.shared,
    }));
    expect([message, shared]).toEqual(['orders', false]);
    // The private answer is in the private chat, not in the history of the group.
    const { sessions } = process.services.store;
    const stored = await Promise.all(
      (await sessions.list({ limit: 9 })).map(async ({ session_id }) => [
        session_id,
        (await sessions.turns(session_id)).map(({ reply }) => isSaid(reply ?? '', 'ada')),
      ]),
    );
    expect(Object.fromEntries(stored)).toMatchObject({ [`msgbot:${USER}`]: [true] });
  });

  it('says where to write if the platform does not take the private message, and fails nothing', async () => {
    await start();
    refusePrivately(forbidden);
    const [reply] = await write('orders', GROUP);
    expect(reply).toContain('Please write to me privately: ');
    expect(reply).toContain('https://t.me/');
    expect(reply).not.toContain('I have written');
    platform.outage = () => null;
    // The person has begun a private chat now.
    expect((await signIn()).filter((text) => isSaid(text, 'ada'))).toHaveLength(1);
    expect(await process.services.store.inbox.list({ states: ['failed'], limit: 9 })).toEqual([]);
  });

  it('drops the word to the group if the platform refuses it, and tells it only after the answer', async () => {
    await start();
    await write('orders', GROUP);
    refusePrivately(() => new Response(JSON.stringify({ ok: false, error_code: 500 }), { status: 500 }));
    await process.deliver('msgbot', event(`/service_auth ${await token()}`, { kind: 'command' }));
    await pass(MINUTE);
    expect([turns.length, inGroup().length]).toEqual([2, 1]);
    platform.outage = ({ path, body }) =>
      path.endsWith('/sendMessage') && JSON.parse(body).chat_id !== Number(USER) ? forbidden() : null;
    await pass(30 * MINUTE);
    expect(texts().filter((text) => isSaid(text, 'ada'))).toHaveLength(1);
    const states = ['waiting', 'running', 'replied', 'failed'] as const;
    expect(await process.services.store.inbox.list({ states, limit: 9 })).toEqual([]);
  });

  it('is no answer to the question in the private chat, if it is only a yes', async () => {
    await start();
    await signIn();
    expect((await write('gift')).at(-1)).toContain('Please confirm');
    await removeLink(process.services, msgbot, USER);
    during = async () =>
      void (await turns
        .at(-1)
        ?.tools.find(({ name }) => name === 'orders')
        ?.call({}));
    await write('yes', GROUP);
    await signIn();
    expect(turns.at(-1)).toMatchObject({ text: 'yes', shared: false, confirmed_actions: [] });
    expect(calls).toEqual(['orders of ada']);
  });

  it('is asked for sign-in once, with the sentence that fits, whenever the daemon is killed', async () => {
    for (const when of ['before', 'after'] as const)
      for (let call = 1; ; call++) {
        clock = new VirtualClock(Date.now());
        directory = fastStateDirectory();
        platform = await VirtualPlatform.of(msgbot);
        turns = [];
        await start();
        const asking = event('orders', GROUP);
        process.dieAt(call, when);
        await process.deliver('msgbot', asking);
        await process.idle();
        const died = process.isDead;
        await process.kill();
        await start();
        await process.deliver('msgbot', asking);
        await pass(5 * MINUTE);
        const about = `${when} write ${call}`;
        expect(new Set(inGroup()).size, about).toBe(1);
        expect(inGroup()[0], about).toContain(WRITTEN);
        await signIn();
        expect(
          texts().filter((text) => isSaid(text, 'ada')),
          about,
        ).toHaveLength(1);
        await process.kill();
        if (!died) break;
      }
  });
});
