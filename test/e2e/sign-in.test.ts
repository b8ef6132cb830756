import { beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { readAll, start } from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-message(7), "Sign-in changes the id". The person who started a session knows its id. That person must
// not act as another person who signs in to the session later, and must not read later messages.

const GENERATED = /^(webchat|sse)_visitor_[A-Za-z0-9_-]{22}$/;

let daemon: DaemonHere;
let ada = '';

beforeAll(async () => {
  const dictation = await Dictation.start();
  daemon = await startDaemonHere({
    env: {
      ...dictation.env,
      SSE_ENABLED: 'true',
      RATE_LIMIT_ANONYMOUS_MAX: '100000',
      LOOP_GUARD_ENABLED: 'false',
    },
  });
  ada = await token({ sub: 'ada' });
});

const say = (message: string, body: { session_id?: string; jwt_token?: string } = {}) =>
  post(daemon.url, { user_id: 'visitor', message, ...body });

/** Sends a first message without sign-in. @returns the id of the session */
async function begun(): Promise<string> {
  return (await say('count 1')).body.session_id;
}

async function stored(id: string) {
  const run = await command(['sessions', 'show', id, '--json'], { cwd: daemon.directory });
  return run.code === 0 ? JSON.parse(run.stdout) : null;
}

describe('sign-in to a session without an owner', () => {
  test('changes the id of the session, returns the new id with the reply, and keeps the turns', async () => {
    const before = await begun();
    const { body } = await say('me', { session_id: before, jwt_token: ada });
    expect(body.response).toBe('ada@example.com');
    expect(body.session_id).toMatch(GENERATED);
    expect(body.session_id).not.toBe(before);
    for (const id of [before, body.session_id]) {
      expect(await stored(id)).toMatchObject({
        session_id: body.session_id,
        former_id: before,
        owner: { sub: 'ada' },
        turns: [{ text: 'count 1' }, { text: 'me' }],
      });
      const { stdout } = await command(['explain', id, '--json'], { cwd: daemon.directory });
      expect(JSON.parse(stdout).traces).toHaveLength(2);
    }
    expect((await say('me', { session_id: body.session_id })).body).toMatchObject({
      response: 'ada@example.com',
      session_id: body.session_id,
    });
  });

  test('changes the id before the event stream of the message starts', async () => {
    const before = await begun();
    const stream_id = await start(daemon.url, {
      user_id: 'visitor',
      message: 'me',
      session_id: before,
      jwt_token: ada,
    });
    const { events } = await readAll(daemon.url, stream_id);
    const ids = events.filter(({ data }) => data.session_id).map(({ data }) => data.session_id);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^sse_visitor_/);
    expect(ids[0]).not.toBe(before);
    expect(events[0]?.event).toBe('stream_start');
  });
});

test('during sign-in, many simultaneous messages with a token never share a session with messages without a token', async () => {
  const before = await begun();
  const messages = Array.from({ length: 40 }, (_, n) =>
    n % 2 ? say('me', { session_id: before, jwt_token: ada }) : say('me', { session_id: before }),
  );
  const answers = await Promise.all(messages);
  const { session_id } = await stored(before);
  for (const [n, { body }] of answers.entries()) {
    expect(body.response).toBe(n % 2 ? 'ada@example.com' : 'nobody');
    if (n % 2) expect(body.session_id).toBe(session_id);
    else expect(body.session_id).not.toBe(session_id);
  }
});
