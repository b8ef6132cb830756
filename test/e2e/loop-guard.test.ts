import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { command } from '../support/command.ts';
import type { StartOptions } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { readAll, startRaw } from '../support/event-stream.ts';
import { Gate } from '../support/gate.ts';
import { sampleAgent } from '../support/sample-agent.ts';
import { token } from '../support/tokens.ts';
import { type Answer, type Post, post } from '../support/webchat.ts';

// Tests agentd-message(7), "Loop guard", as users and operators of webchat see it.

/** The windows are so long that all messages of a test are within them, even on a slow machine. */
const PATIENT = { LOOP_GUARD_WINDOW_SECONDS: '600', LOOP_GUARD_REPEAT_WINDOW_SECONDS: '600' };

let daemon: DaemonHere;
beforeAll(async () => {
  daemon = await guarded({
    env: { ...PATIENT, LOG_LEVEL: 'DEBUG', TRUST_PROXY: '1', SSE_ENABLED: 'true' },
  });
});
afterAll(() => daemon.stop());

/** Starts a daemon with the loop guard on, as it is by default. */
function guarded({ env, ...options }: StartOptions = {}): Promise<DaemonHere> {
  return startDaemonHere({ ...options, env: { LOOP_GUARD_ENABLED: '', ...env } });
}

async function guardedForThisTest(options: StartOptions = {}): Promise<DaemonHere> {
  const own = await guarded(options);
  onTestFinished(async () => void (await own.stop()));
  return own;
}

/** Sends a message. Its text is new, unless `members` has a text. */
function say(
  user_id: string,
  members: Record<string, unknown> = {},
  options: Post & { on?: DaemonHere } = {},
) {
  const { on = daemon, ...rest } = options;
  return post(on.url, { user_id, message: `Hello ${randomUUID()}`, ...members }, rest);
}

async function sayTimes(count: number, ...args: Parameters<typeof say>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let n = 0; n < count; n++) answers.push(await say(...args));
  return answers;
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

/** Returns the messages of the guard's log lines that contain `about`. */
function lines(about: string, on: DaemonHere = daemon): string[] {
  return on
    .log()
    .map(({ msg }) => String(msg))
    .filter((msg) => msg.startsWith('[LoopGuard] ') && msg.includes(about));
}

function run(on: DaemonHere, ...args: string[]) {
  return command(args, { cwd: on.directory });
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
async function json(on: DaemonHere, ...args: string[]): Promise<any> {
  return JSON.parse((await run(on, ...args, '--json')).stdout);
}

describe('A burst', () => {
  test('is allowed up to 5 messages; the 6th opens the circuit and is blocked with 429', async () => {
    expect(statuses(await sayTimes(5, 'burst'))).toEqual([200, 200, 200, 200, 200]);
    const { status, headers, body } = await say('burst');
    expect(status).toBe(429);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toEqual({
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: 'Too many messages in a short time.',
      code: 'loop_guard_blocked',
      request_id: headers.get('x-request-id'),
      reason: 'rate_limit',
    });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(30);
  });

  test('is detected even while the answers are slow: blocked messages do not wait for them', async () => {
    const gate = await Gate.open();
    onTestFinished(() => gate.close());
    const slow = await guardedForThisTest({
      env: { ...PATIENT, AGENT_RUNTIME: sampleAgent('gated-agent.mjs', gate.url) },
    });
    const sent = Array.from({ length: 6 }, (_, n) =>
      say('slow', { session_id: 's', message: `hold ${n}` }, { on: slow }),
    );
    const first = await Promise.race(sent);
    expect([first.status, first.body.reason]).toEqual([429, 'rate_limit']);
    for (let n = 0; n < 5; n++) {
      await gate.waiting(1);
      gate.release();
    }
    expect(statuses(await Promise.all(sent)).sort()).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe('Repetition', () => {
  test('opens the circuit at the 3rd equal text, whatever its case and white space, and that message is blocked', async () => {
    const texts = ['Are you  there?', 'something else', 'ARE YOU THERE?', ' are\tyou\nthere? ', 'and now?'];
    const answers: Answer[] = [];
    for (const message of texts) answers.push(await say('parrot', { message }));
    expect(statuses(answers)).toEqual([200, 200, 200, 429, 429]);
    expect(answers.at(3)?.body).toMatchObject({ code: 'loop_guard_blocked', reason: 'repetition' });
    expect(answers.at(3)?.headers.get('retry-after')).toMatch(/^(30|2\d)$/);
    expect(answers.at(4)?.body.reason).toBe('repetition');
    expect(lines('user=parrot')).toEqual([
      '[LoopGuard] CIRCUIT_OPEN reason=repetition count=3 platform=webchat user=parrot',
    ]);
  });
});

describe('The turns of a session', () => {
  const few = { ...PATIENT, LOOP_GUARD_MAX_TURNS_PER_SESSION: '2', LOOP_GUARD_MAX_MESSAGES: '1000' };
  let on: DaemonHere;
  beforeAll(async () => {
    on = await guarded({ env: few });
  });
  afterAll(() => on.stop());

  test('are limited: the next message is blocked without Retry-After, and the block is logged once', async () => {
    const first = await say('talker', {}, { on });
    const session_id: string = first.body.session_id;
    expect((await say('talker', { session_id }, { on })).status).toBe(200);
    const before = await json(on, 'sessions', 'show', session_id);
    const blocked = await sayTimes(2, 'talker', { session_id }, { on });
    for (const { status, headers, body } of blocked) {
      expect([status, body.code, body.reason]).toEqual([429, 'loop_guard_blocked', 'turn_limit']);
      expect(headers.get('retry-after')).toBeNull();
    }
    const short = session_id.replace(/(_[\w-]{6})[\w-]{16}$/, '$1…');
    expect(lines('TURN_LIMIT', on)).toEqual([`[LoopGuard] TURN_LIMIT session=${short} turns=2/2`]);
    expect(on.stderr()).not.toContain(session_id);
    // The turns and the expiry time of the session have not changed.
    expect(await json(on, 'sessions', 'show', session_id)).toEqual(before);
    expect((await say('talker', {}, { on })).status).toBe(200);
  });
});

describe('The loop guard does not count', () => {
  test('a repeat under a known Idempotency-Key, which is answered even while a circuit is open', async () => {
    const repeat = { message: 'once', session_id: 'repeated' };
    const options = { headers: { 'Idempotency-Key': 'k1' } };
    const first = await say('again', repeat, options);
    for (let n = 0; n < 6; n++) {
      const answer = await say('again', repeat, options);
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    }
    expect(statuses(await sayTimes(4, 'again'))).toEqual([200, 200, 200, 200]);
    expect((await say('again')).status).toBe(429);
    const answer = await say('again', repeat, options);
    expect(answer.body).toEqual(first.body);
    expect(lines('user=again')).toEqual([
      ...Array.from({ length: 6 }, () => '[LoopGuard] DUPLICATE platform=webchat user=again message_id=k1'),
      '[LoopGuard] CIRCUIT_OPEN reason=rate_limit 6/5 platform=webchat user=again',
      '[LoopGuard] DUPLICATE platform=webchat user=again message_id=k1',
    ]);
  });
});

describe('On event streams', () => {
  test('the POST is counted, opening a stream is not, and a blocked message has no stream', async () => {
    const begin = (headers: Record<string, string> = {}) =>
      startRaw(
        daemon.url,
        { user_id: 'streamer', message: `Hello ${randomUUID()}`, session_id: 'streamed' },
        headers,
      );
    const { stream_id } = (await (await begin()).json()) as { stream_id: string };
    for (let n = 0; n < 3; n++)
      expect((await readAll(daemon.url, stream_id)).events.length).toBeGreaterThan(2);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await begin()).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    const blocked = await begin();
    expect(blocked.status).toBe(429);
    expect(blocked.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await blocked.json()).toMatchObject({ code: 'loop_guard_blocked', reason: 'rate_limit' });
    expect(lines('user=streamer')).toEqual([
      '[LoopGuard] CIRCUIT_OPEN reason=rate_limit 6/5 platform=sse user=streamer',
    ]);
    // The messages of a user are counted per channel, but the turns of a session are counted across channels.
    const { body, status } = await say('streamer', { session_id: 'streamed' });
    expect(status).toBe(200);
    const { traces } = await json(daemon, 'explain', body.session_id, '--limit', '1');
    expect(traces[0].lines.find(({ step }: { step: string }) => step === 'guard').detail).toMatchObject({
      messages: 1,
      turns: 6,
    });
  });
});

describe('Operators', () => {
  test('find each blocked message with its verdict and counters', async () => {
    await sayTimes(5, 'explained');
    const { body } = await say('explained');
    const { traces } = await json(daemon, 'explain', body.request_id);
    expect(traces).toHaveLength(1);
    expect(traces[0]).toMatchObject({
      outcome: 'loop_guard_blocked',
      user_id: 'explained',
    });
    expect(traces[0].findings.map(({ reason }: { reason: string }) => reason)).toContain('rate_limit');
    expect(traces[0].lines.at(-1)).toMatchObject({
      step: 'guard',
      verdict: 'refused',
      reason: 'rate_limit',
      detail: { count: 6, max: 5, blocked: 1 },
    });
    const { stdout } = await run(daemon, 'explain', body.request_id);
    expect(stdout).toContain('count=6 max=5 blocked=1');
    expect(stdout).toContain('agentd guard reset');
  });

  test('list whom the guard blocks, and unblock them, while the daemon runs', async () => {
    const on = await guardedForThisTest({ env: { ...PATIENT, LOOP_GUARD_MAX_TURNS_PER_SESSION: '7' } });
    const nobody = await run(on, 'guard', 'list');
    expect([nobody.code, nobody.stdout, nobody.stderr]).toEqual([0, '', 'The loop guard blocks nobody.\n']);
    expect(await json(on, 'guard', 'list')).toEqual([]);

    await sayTimes(8, 'flood', {}, { on });
    await sayTimes(3, 'parrot', { message: 'Hi' }, { on });
    const bearer = await token({ sub: 'ada' });
    await sayTimes(6, 'visitor', {}, { on, bearer });
    const blocks = await json(on, 'guard', 'list');
    expect(blocks).toHaveLength(3);
    expect(blocks[2]).toEqual({
      kind: 'circuit',
      platform: 'webchat',
      user_id: 'flood',
      person: null,
      address: '127.0.0.1',
      reason: 'rate_limit',
      count: 6,
      max: 5,
      blocked: 3,
      opened_at: expect.stringMatching(/Z$/),
      open_until: expect.stringMatching(/Z$/),
      seconds_left: expect.any(Number),
    });
    expect(blocks[1]).toMatchObject({ user_id: 'parrot', reason: 'repetition', count: 3, blocked: 1 });
    expect(blocks[0]).toMatchObject({ user_id: 'visitor', person: { sub: 'ada' }, address: null });
    for (const { seconds_left } of blocks) {
      expect(seconds_left).toBeGreaterThan(0);
      expect(seconds_left).toBeLessThanOrEqual(30);
    }
    const { stdout } = await run(on, 'guard', 'list');
    expect(stdout).toMatch(/^CHANNEL +USER OR SESSION {2,}REASON {2,}COUNT {2}BLOCKED {2}TIME LEFT$/m);
    expect(stdout).toMatch(
      /^webchat \(Website\) {2}flood \(at 127\.0\.0\.1\) {2,}rate_limit {2,}6\/5 {2,}3 {2}\d+ s$/m,
    );
    expect(stdout).toMatch(
      /^webchat \(Website\) {2}visitor \(signed in as ada@example\.com\) {2,}rate_limit/m,
    );

    const reset = await run(on, 'guard', 'reset', 'webchat', 'flood');
    expect([reset.code, reset.stdout]).toEqual([0, 'reset user flood of webchat (Website)\n']);
    expect((await say('flood', {}, { on })).status).toBe(200);
    expect((await say('parrot', {}, { on })).status).toBe(429);
    expect(await json(on, 'guard', 'reset', 'webchat', 'ada')).toEqual({
      platform: 'webchat',
      user: 'ada',
      reset: true,
    });
    expect((await say('visitor', {}, { on, bearer })).status).toBe(200);

    await sayTimes(4, 'flood', { session_id: 's' }, { on });
    expect((await say('flood', {}, { on })).status).toBe(429);
    expect((await run(on, 'guard', 'reset', '--all')).code).toBe(0);
    expect(await json(on, 'guard', 'list')).toEqual([]);
    expect((await say('flood', {}, { on })).status).toBe(200);
    expect((await say('parrot', {}, { on })).status).toBe(200);
  });

  test('can set every limit, and turn the guard off', async () => {
    const own = await guardedForThisTest({
      env: { LOOP_GUARD_MAX_MESSAGES: '2', LOOP_GUARD_WINDOW_SECONDS: '1', LOOP_GUARD_REPEAT_THRESHOLD: '2' },
    });
    expect((await say('x', {}, { on: own })).status).toBe(200);
    await delay(1010);
    expect(statuses(await sayTimes(3, 'x', {}, { on: own }))).toEqual([200, 200, 429]);
    expect(lines('user=x', own)).toEqual([
      '[LoopGuard] CIRCUIT_OPEN reason=rate_limit 3/2 platform=webchat user=x',
    ]);
    expect(statuses(await sayTimes(2, 'y', { message: 'same' }, { on: own }))).toEqual([200, 429]);

    const off = await guardedForThisTest({ env: { LOOP_GUARD_ENABLED: 'false' } });
    expect(new Set(statuses(await sayTimes(20, 'x', { message: 'same' }, { on: off })))).toEqual(
      new Set([200]),
    );
    const { traces } = await json(off, 'explain', (await say('x', {}, { on: off })).body.session_id);
    expect(traces[0].lines.find(({ step }: { step: string }) => step === 'guard').reason).toBe('guard_off');
  });
});
