import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { eventsIn, read, readAll, start } from '../support/event-stream.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';

const directory = temporaryFolder('sse');
let dictation: Dictation;

beforeAll(async () => {
  dictation = await Dictation.start();
});

beforeEach(() => dictation.forget());

const settings = (env: Record<string, string> = {}) => ({ ...dictation.env, SSE_ENABLED: 'true', ...env });

/** Starts a daemon for one test. */
async function daemonWith(
  env: Record<string, string>,
  options: { directory?: string } = {},
): Promise<DaemonHere> {
  const daemon = await startDaemonHere({ ...options, env: settings(env) });
  return daemon;
}

it('after kill -9, events that were read are kept, and no stream is lost; one in the middle of a run ends with the error `interrupted`', async () => {
  const before = await startAgentd({ directory, env: settings() });
  onTestFinished(async () => void (await before.stop('SIGKILL')));
  const ended = await start(before.url, { user_id: 'ada', message: 'count 3' });
  const whole = await readAll(before.url, ended);
  const waiting = await start(before.url, {
    user_id: 'ada',
    message: 'me',
    jwt_token: await token({ sub: 'ada' }),
  });
  const body = { user_id: 'ada', message: 'killed' };
  const stream_id = await start(before.url, body, { 'Idempotency-Key': 'k' });
  const reader = read(before.url, stream_id);
  dictation.say('killed', 'Half of it');
  await reader.holds('Half of it');
  await before.stop('SIGKILL');
  const seen = eventsIn((await reader.ended).text);

  const after = await daemonWith({}, { directory });
  const { events } = await readAll(after.url, stream_id, {
    headers: { 'Last-Event-ID': seen.at(-1)?.id ?? '' },
  });
  expect(events).toEqual([
    {
      id: String(seen.length + 1),
      event: 'error',
      data: { code: 'interrupted', message: 'The answer was interrupted. Please ask again.' },
    },
  ]);
  expect((await readAll(after.url, stream_id)).events).toEqual([...seen, ...events]);
  const again = await start(after.url, body, { 'Idempotency-Key': 'k' });
  expect(again).not.toBe(stream_id);
  expect((await readAll(after.url, ended)).events).toEqual(whole.events);
  expect((await readAll(after.url, waiting)).events.at(-1)?.data.response).toBe('ada@example.com');
});

it('a stopping daemon closes only the connections, lets the run finish, and sends the rest after the restart', async () => {
  const before = await daemonWith({ SHUTDOWN_GRACE_SECONDS: '25' }, { directory });
  const stream_id = await start(before.url, { user_id: 'ada', message: 'goes on' });
  const reader = read(before.url, stream_id);
  dictation.say('goes on', 'One. ');
  await reader.holds('One. ');
  const stopped = before.stop();
  const { text, whole } = await reader.ended;
  const seen = eventsIn(text);
  expect([whole, seen.at(-1)?.event]).toEqual([true, 'text_chunk']);
  const refused = read(before.url, stream_id);
  expect((await refused.ended).status).toBe(0);
  dictation.say('goes on', 'Two.');
  dictation.end('goes on');
  expect(await stopped).toBe(0);

  const after = await daemonWith({}, { directory });
  const { events } = await readAll(after.url, stream_id, { headers: { 'Last-Event-ID': '2' } });
  expect(events.map(({ event }) => event)).toEqual(['text_chunk', 'complete', 'stream_complete']);
  expect(events.at(-1)?.data.response).toBe('One. Two.');
});

describe('SSE_STREAM_TTL_SECONDS', () => {
  it('is the time after which unopened streams and finished streams are deleted and return 404', async () => {
    const daemon = await daemonWith({ SSE_STREAM_TTL_SECONDS: '1' });
    const waiting = await start(daemon.url, { user_id: 'ada', message: 'abandoned' });
    const ended = await start(daemon.url, { user_id: 'ada', message: 'count 1' });
    await readAll(daemon.url, ended);
    const status = async (id: string) =>
      (await fetch(`${daemon.url}/sse/stream/${id}`, { method: 'HEAD' })).status;
    await expect.poll(() => status(waiting)).toBe(404);
    await expect.poll(() => status(ended)).toBe(404);
    expect(dictation.runs).toEqual([]);
  });
});

describe('SSE_REQUIRE_TOKEN', () => {
  it('requires a token, valid or not; a cookie that does not count is none', async () => {
    const daemon = await daemonWith({ SSE_REQUIRE_TOKEN: 'true' });
    const message = { user_id: 'ada', message: 'me' };
    const bare = await start(daemon.url, message);
    for (const method of ['GET', 'DELETE']) {
      const refused = await fetch(`${daemon.url}/sse/stream/${bare}`, { method });
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(await refused.json()).toMatchObject({ code: 'token_missing' });
    }
    expect((await readAll(daemon.url, bare, { query: 'token=bad' })).events.at(-1)?.data.response).toBe(
      'nobody',
    );
    const own = { Cookie: `jwt_token=${await token({ sub: 'ada' })}` };
    for (const headers of [{ Cookie: 'jwt_token=bad' }, own])
      expect((await readAll(daemon.url, await start(daemon.url, message), { headers })).status).toBe(401);

    const given = await start(daemon.url, { ...message, jwt_token: await token({ sub: 'ada' }) });
    expect((await readAll(daemon.url, given)).events.at(-1)?.data.response).toBe('ada@example.com');
    expect((await readAll(daemon.url, given)).status).toBe(200);

    const withOwn = await start(daemon.url, message, own);
    expect((await readAll(daemon.url, withOwn, { headers: own })).events.at(-1)?.data.response).toBe(
      'ada@example.com',
    );

    const signedOut = await start(daemon.url, { ...message, jwt_token: null });
    const withCookie = await readAll(daemon.url, signedOut, { headers: { Cookie: 'jwt_token=bad' } });
    expect(withCookie.status).toBe(401);
  });
});
