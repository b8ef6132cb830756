import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { eventsIn, read, readAll, start } from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';

const directory = mkdtempSync(join(tmpdir(), 'agentd-sse-'));
let dictation: Dictation;
/** The daemon with the usual settings, while it runs. */
let usual: Agentd | null = null;

beforeAll(async () => {
  dictation = await Dictation.start();
});

beforeEach(() => dictation.forget());

afterAll(async () => {
  await usual?.stop('SIGKILL');
  await dictation.close();
  await rm(directory, { recursive: true, force: true });
});

function startWith(env: Record<string, string> = {}): Promise<Agentd> {
  return startAgentd({ directory, env: { ...dictation.env, SSE_ENABLED: 'true', ...env } });
}

/** The daemon with the usual settings. Starts it, unless an earlier test has left it running. */
async function usualDaemon(): Promise<Agentd> {
  if (usual) return usual;
  const daemon = await startWith();
  usual = daemon;
  void daemon.exited.then(() => {
    usual = null;
  });
  return daemon;
}

/** Starts a daemon for one test, in place of the usual one. */
async function daemonWith(env: Record<string, string>): Promise<Agentd> {
  await usual?.stop('SIGKILL');
  const daemon = await startWith(env);
  onTestFinished(async () => void (await daemon.stop('SIGKILL')));
  return daemon;
}

describe('after kill -9', () => {
  it('in the middle of a run, the events that were read are kept, and the stream ends with the error `interrupted`', async () => {
    const before = await usualDaemon();
    const body = { user_id: 'ada', message: 'killed' };
    const stream_id = await start(before.url, body, { 'Idempotency-Key': 'k' });
    const reader = read(before.url, stream_id);
    dictation.say('killed', 'Half of it');
    await reader.holds('Half of it');
    await before.stop('SIGKILL');
    const seen = eventsIn((await reader.ended).text);

    const after = await usualDaemon();
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
  });

  it('before a stream is opened, or after its end, nothing is lost', async () => {
    const before = await usualDaemon();
    const ended = await start(before.url, { user_id: 'ada', message: 'count 3' });
    const whole = await readAll(before.url, ended);
    const waiting = await start(before.url, {
      user_id: 'ada',
      message: 'me',
      jwt_token: await token({ sub: 'ada' }),
    });
    await before.stop('SIGKILL');
    const after = await usualDaemon();
    expect((await readAll(after.url, ended)).events).toEqual(whole.events);
    expect((await readAll(after.url, waiting)).events.at(-1)?.data.response).toBe('ada@example.com');
  });
});

describe('a stopping daemon', () => {
  it('closes only the connections, lets the run finish, and sends the rest after the restart', async () => {
    const before = await usualDaemon();
    const stream_id = await start(before.url, { user_id: 'ada', message: 'goes on' });
    const reader = read(before.url, stream_id);
    dictation.say('goes on', 'One. ');
    await reader.holds('One. ');
    before.signal('SIGTERM');
    const { text, whole } = await reader.ended;
    const seen = eventsIn(text);
    expect([whole, seen.at(-1)?.event]).toEqual([true, 'text_chunk']);
    const refused = read(before.url, stream_id);
    expect((await refused.ended).status).toBe(0);
    dictation.say('goes on', 'Two.');
    dictation.end('goes on');
    expect(await before.exited).toBe(0);

    const after = await usualDaemon();
    const { events } = await readAll(after.url, stream_id, { headers: { 'Last-Event-ID': '2' } });
    expect(events.map(({ event }) => event)).toEqual(['text_chunk', 'complete', 'stream_complete']);
    expect(events.at(-1)?.data.response).toBe('One. Two.');
  });
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
