import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import type { StartOptions } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { token } from '../support/tokens.ts';
import { type Answer, type Post, post } from '../support/webchat.ts';

// Tests agentd-message(7), "Loop guard", as users and operators of webchat see it.

/** The windows are so long that all messages of a test are within them, even on a slow machine. */
const PATIENT = { LOOP_GUARD_WINDOW_SECONDS: '600', LOOP_GUARD_REPEAT_WINDOW_SECONDS: '600' };

let daemon: DaemonHere;
beforeAll(async () => {
  daemon = await guarded({ env: PATIENT });
});

/** Starts a daemon with the loop guard on, as it is by default. */
function guarded({ env, ...options }: StartOptions = {}): Promise<DaemonHere> {
  return startDaemonHere({ ...options, env: { LOOP_GUARD_ENABLED: '', ...env } });
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
});

describe('Operators', () => {
  test('list whom the guard blocks, and unblock them, while the daemon runs', async () => {
    const on = await guarded({ env: { ...PATIENT, LOOP_GUARD_MAX_TURNS_PER_SESSION: '7' } });
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
});
