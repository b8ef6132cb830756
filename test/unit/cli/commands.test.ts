import { utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRecording } from '../../../src/cli/recorded-run.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import type { Session, StoredTurn } from '../../../src/daemon/session/session.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { openStore } from '../../../src/daemon/store/open.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import type { TraceRecord } from '../../../src/daemon/trace/trace-record.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { stateDirectory } from '../store/state-directory.ts';
import { agentd as run } from './captured-output.ts';
import { stubSettings } from './stub-settings.ts';

const settings = {
  HOST: '127.0.0.1',
  PORT: 0,
  SESSION_BACKEND: 'sqlite',
  STATE_DIR: '',
  LOG_FILE: undefined as string | undefined,
  JWT_VERIFY_EXP: true,
  JWT_CLOCK_SKEW_SECONDS: 0,
  TRACE_RETENTION_DAYS: 7,
} satisfies Partial<Settings>;

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsImVtYWlsIjoiYUBiLmMifQ.c2lnbmF0dXJl';
const ALICE = personKey({ sub: '42', iss: 'https://site.example' });

beforeEach(() => {
  settings.STATE_DIR = stateDirectory();
  stubSettings(settings);
});

async function agentd(...argv: string[]) {
  const ended = await run(...argv);
  expect(ended.stdout + ended.stderr).not.toContain(TOKEN);
  return ended;
}

function session(overrides: Partial<Session> = {}): Session {
  const now = Date.now();
  return {
    session_id: 'pigeon_alice_1',
    former_id: null,
    user_id: 'alice',
    platform: 'pigeon',
    namespace: 'pigeon',
    generated: true,
    owner: null,
    metadata: {},
    credential_owner: null,
    turns: 0,
    created_at: now,
    last_active_at: now,
    expires_at: now + 3_600_000,
    ...overrides,
  };
}

function signedIn(): Session {
  const token_exp = new Date(Date.now() + 3_600_000).toISOString();
  return session({
    owner: ALICE,
    credential_owner: { user_id: 'alice', person: ALICE },
    metadata: { jwt_context: { has_jwt: true, user_id: '42', email: 'a@b.c', token: TOKEN, token_exp } },
  });
}

function turn(): StoredTurn {
  return {
    turn_id: 't1',
    request_id: 'r1',
    message_id: 'm1',
    user_id: 'alice',
    person: null,
    text: 'Who am I?',
    reply: 'I do not know.',
    outcome: 'answered',
    failure: null,
    credentials: 'default',
    credentials_reason: 'Token Expired',
    started_at: Date.now(),
    finished_at: Date.now(),
  };
}

function trace(): TraceRecord {
  const at = Date.now();
  return {
    turn_id: 't1',
    request_id: 'r1',
    session_id: 'pigeon_alice_1',
    message_id: 'm1',
    platform: 'pigeon',
    user_id: 'alice',
    started_at: at,
    finished_at: at + 5,
    outcome: 'answered',
    lines: [{ at, step: 'identify', verdict: 'fallback', reason: 'Token Expired' }],
  };
}

/** Stores sessions and turns as a daemon would. */
async function stored(
  sessions: readonly Session[],
  turns: readonly [StoredTurn, TraceRecord][] = [],
): Promise<void> {
  const store = await openStore(settings as unknown as Settings, { role: 'daemon', clock: systemClock });
  for (const one of sessions) await saveSession(store, one);
  for (const [record, trace] of turns)
    await commitUnderClaim(store, 'pigeon_alice_1', { turn: { record, ttl_ms: 3_600_000 }, trace });
  await store.close();
}

it('guard list names a blocked person by e-mail address, if a session knows it', async () => {
  await stored([signedIn()]);
  const store = await openStore(settings as unknown as Settings, { role: 'daemon', clock: systemClock });
  const limits = {
    ...{ max_messages: 1, window_ms: 60_000, cooldown_ms: 60_000, max_turns: 9, repeat_threshold: 9 },
    ...{ repeat_window_ms: 60_000, session_ttl_ms: 60_000 },
  };
  for (const [user_id, person] of [
    ['alice', ALICE],
    ['bob', personKey({ sub: '43' })],
  ] as const) {
    const user = guardUser({ platform: 'pigeon', user_id, person, address: null });
    for (const text of ['one', 'two'])
      await store.guard.check({ user, session_id: user_id, text, message_id: null, sent_at: null }, limits);
  }
  await store.close();
  const { stdout } = await agentd('guard', 'list');
  expect(stdout).toContain('alice (signed in as a@b.c)');
  expect(stdout).toContain('bob (signed in as 43)');
  expect(JSON.parse((await agentd('guard', 'list', '--json')).stdout)[0]).not.toHaveProperty('name');
});

describe('sessions list', () => {
  it('finds nothing if no daemon has stored anything yet, and creates nothing', async () => {
    expect(await agentd('sessions', 'list')).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^No session found\. There is no store at .*agentd\.db yet; .*\n$/),
    });
    const { code, stdout } = await agentd('sessions', 'list', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([0, []]);
  });

  it('shows the sessions with state, turns and last activity', async () => {
    await stored([signedIn()], [[turn(), trace()]]);
    const { code, stdout } = await agentd('sessions', 'list');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ID +CHANNEL +PERSON +USER +STATE +TURNS +ACTIVE\npigeon_alice_1 +pigeon +\S+ +alice +ValidJWT +1 +20\S+Z\n$/,
    );
  });

  it('prints a JSON array, filtered by channel and user, and limited', async () => {
    await stored([
      session({ session_id: 'a', user_id: 'alice' }),
      session({ session_id: 'b', user_id: 'bob' }),
      session({ session_id: 'c', user_id: 'bob', platform: 'owl', namespace: 'owl' }),
    ]);
    const ids = async (...argv: string[]) =>
      (JSON.parse((await agentd('sessions', 'list', '--json', ...argv)).stdout) as { session_id: string }[])
        .map(({ session_id }) => session_id)
        .sort();
    expect(await ids()).toEqual(['a', 'b', 'c']);
    expect(await ids('--user', 'bob')).toEqual(['b', 'c']);
    expect(await ids('--user', 'bob', '--platform', 'owl')).toEqual(['c']);
    expect(await ids('--limit', '1')).toHaveLength(1);
  });
});

describe('sessions show', () => {
  it('shows the owner, and for each turn the credentials and the reason for them', async () => {
    await stored([signedIn()], [[turn(), trace()]]);
    const { code, stdout } = await agentd('sessions', 'show', 'pigeon_alice_1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^state +ValidJWT$/m);
    expect(stdout).toMatch(/^owner +42 \(issuer https:\/\/site\.example\)$/m);
    expect(stdout).toMatch(/^token +a@b\.c, until 20\S+Z \(eyJhbGci… sha256:[0-9a-f]{8}\)$/m);
    expect(stdout).toMatch(/request r1 {2}default credentials: Token Expired \(The token has expired\)$/m);
    expect(stdout).toContain('  alice: Who am I?\n  agent: I do not know.\n');
  });

  it('prints the session as JSON without the token', async () => {
    await stored([signedIn()], [[turn(), trace()]]);
    const shown = JSON.parse((await agentd('sessions', 'show', '--json', 'pigeon_alice_1')).stdout);
    expect(shown).toMatchObject({
      session_id: 'pigeon_alice_1',
      state: 'ValidJWT',
      owner: { sub: '42', issuer: 'https://site.example', tenant_id: null },
      metadata: { jwt_context: { has_jwt: true, user_id: '42', email: 'a@b.c' } },
      turns: [
        { request_id: 'r1', credentials: 'default', credentials_reason: 'Token Expired', person: null },
      ],
    });
    expect(shown.metadata.jwt_context).not.toHaveProperty('token');
  });

  it('exits with 1 if there is no such session', async () => {
    await stored([]);
    const { code, stdout, stderr } = await agentd('sessions', 'show', 'nobody');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^agentd: there is no session 'nobody'\n.*sessions list/);
  });

  it('exits with 1 if nothing is stored yet', async () => {
    const { code, stderr } = await agentd('sessions', 'show', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^agentd: There is no store at .*\nNothing is stored yet/);
  });
});

describe('a recording', () => {
  it('is not found by the id of a session, and the error says how to find the messages of the session', async () => {
    await stored([signedIn()], [[turn(), trace()]]);
    const of = { settings: settings as Settings, command: 'replay', options: {} };
    await expect(readRecording('pigeon_alice_1', of)).rejects.toMatchObject({
      exitCode: 1,
      message: "'pigeon_alice_1' is a session, and a recording is of one message",
      advice: 'Name a request of the session; `agentd explain pigeon_alice_1` shows them.',
    });
  });
});

describe('status', () => {
  let server: Server | undefined;
  afterEach(() => new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined))));

  async function answering(status: number, body: string, headers: object = {}): Promise<string> {
    const started = createServer((_request, response) =>
      response.writeHead(status, { connection: 'close', ...headers }).end(body),
    );
    server = started;
    const port = await listenOnFreePort(started);
    stubSettings({ PORT: port });
    return `http://127.0.0.1:${port}`;
  }

  const health = {
    status: 'ok',
    platforms: ['owl', 'pigeon'],
    adapters: { owl: { status: 'ok' }, pigeon: { status: 'degraded', detail: 'the wing is broken' } },
  };

  it('shows the channels of the daemon and their state', async () => {
    const url = await answering(200, JSON.stringify(health));
    const { code, stdout } = await agentd('status');
    expect(code).toBe(1);
    expect(stdout).toBe(
      `agentd at ${url} is degraded\n\nCHANNEL  STATE     DETAIL\nowl      ok\npigeon   degraded  the wing is broken\n`,
    );
  });

  it('with --json, prints the answer of the daemon at the address in --url', async () => {
    const url = await answering(200, JSON.stringify(health));
    stubSettings({ PORT: 0 });
    expect(JSON.parse((await agentd('status', '--json', '--url', url)).stdout)).toEqual({
      ...health,
      status: 'degraded',
    });
  });

  it.each([
    ['d1', 'agent d1\n', { agent_digest: 'd1' }],
    ['d1, a=d2, b=d3', 'agent d1 (a d2, b d3)\n', { agent_digest: 'd1', agents: { a: 'd2', b: 'd3' } }],
  ])('shows which agents answer: %s', async (header, words, members) => {
    await answering(200, JSON.stringify(health), { 'X-Agent-Digest': header });
    expect((await agentd('status')).stdout).toContain(words);
    expect(JSON.parse((await agentd('status', '--json')).stdout)).toMatchObject(members);
  });

  it.each(['http://127.0.0.1:1', 'http://[::1]:6000', 'http://no.such.host.invalid'])(
    'exits with 69 if no daemon can be reached: %s',
    async (url) => {
      const { code, stderr } = await agentd('status', '--json', '--url', url);
      expect(stderr).toMatch(/^agentd: cannot reach the daemon at .*: .+\nStart the daemon/);
      expect(code).toBe(69);
    },
  );

  it('exits with 69 if the answer is too long, or not HTTP', async () => {
    const raw = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    await listenOnFreePort(raw);
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
    expect((await agentd('status', '--url', url)).code).toBe(69);
    await answering(200, `{"status":"${'x'.repeat(2_000_000)}"}`);
    expect((await agentd('status')).code).toBe(69);
  });

  it('accepts only an answer of agentd, and shows no control characters', async () => {
    await answering(200, '{"status":"ok","platforms":[],"adapters":{"owl":null}}');
    expect((await agentd('status')).code).toBe(69);
    await new Promise((resolve) => server?.close(resolve));
    await answering(200, '{"status":"\\u001b[2J","platforms":[],"adapters":{}}');
    expect((await agentd('status')).stdout).not.toContain('\u001b');
  });

  it('exits with 69 if another server answers or if the daemon is stopping', async () => {
    await answering(200, '<html>');
    expect(await agentd('status')).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/is not agentd \(status 200\)/),
    });
    await new Promise((resolve) => server?.close(resolve));
    await answering(503, '{}');
    expect(await agentd('status')).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/is not accepting requests \(503\)/),
    });
  });

  it('asks for the address if PORT=0 leaves it unknown, and refuses an invalid address', async () => {
    expect(await agentd('status')).toMatchObject({ code: 2, stderr: expect.stringMatching(/PORT=0/) });
    expect(await agentd('status', '--url', 'localhost')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--url takes/),
    });
  });
});

describe('logs', () => {
  const line = (level: string, msg: string, fields = {}) =>
    JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg });

  function logged(...lines: string[]): void {
    const LOG_FILE = join(settings.STATE_DIR, 'agentd.log');
    stubSettings({ LOG_FILE });
    writeFileSync(LOG_FILE, lines.map((one) => `${one}\n`).join(''));
  }

  it('prints the last lines as text', async () => {
    logged(line('info', 'one'), line('warn', 'two', { request_id: 'r1' }), line('info', 'three'));
    const { code, stdout } = await agentd('logs', '-n', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\S+ \S+ WARN {2}two request_id=r1\n\S+ \S+ INFO {2}three ?\n$/);
  });

  it('prints all lines since a time, unless -n is given', async () => {
    const old = JSON.stringify({ level: 'info', time: '2020-01-01T00:00:00Z', msg: 'old' });
    logged(old, ...Array.from({ length: 120 }, (_, index) => line('info', `line ${index}`)));
    const all = await agentd('logs', '--json', '--since', '1h');
    expect([all.stdout.trimEnd().split('\n').length, all.stderr]).toEqual([120, '']);
    expect(all.stdout).toContain('line 0"');
    const cut = await agentd('logs', '--json', '--since', '1h', '-n', '60');
    expect(cut.stdout.trimEnd().split('\n')).toHaveLength(60);
    expect(cut.stderr).toBe('Only the newest 60 lines are shown; --lines shows more.\n');
    expect((await agentd('logs', '--since', '1h', '-n', '120')).stderr).toBe('');
  });

  it('prints the lines since a time even if logrotate has moved them, and names a compressed file', async () => {
    const old = JSON.stringify({ level: 'info', time: '2020-01-01T00:00:00Z', msg: 'old' });
    const write = (suffix: string, mtime: string, ...lines: string[]) => {
      const file = join(settings.STATE_DIR, `agentd.log${suffix}`);
      writeFileSync(file, lines.map((one) => `${one}\n`).join(''));
      utimesSync(file, new Date(mtime), new Date(mtime));
    };
    const [second, first, compressed] = [60_000, 120_000, 180_000].map((ago) => new Date(Date.now() - ago));
    write('.1', second?.toISOString() ?? '', line('info', 'two'));
    write('-20200101', first?.toISOString() ?? '', old, line('info', 'one'));
    write('.3.gz', compressed?.toISOString() ?? '', 'x');
    write('.4.gz', '2020-01-01T00:00:00Z', 'x');
    write('.backup', new Date().toISOString(), line('info', 'not a log'));
    logged(line('info', 'three'));
    const { stdout, stderr } = await agentd('logs', '--since', '1h');
    expect(stdout.match(/(?<=INFO {2})\w+/g)).toEqual(['one', 'two', 'three']);
    expect(stderr).toMatch(/^\S+agentd\.log\.3\.gz may have more lines, and is compressed: use `zcat`.*\n$/);
  });

  it('says that there are more lines than the 50 that it prints', async () => {
    logged(...Array.from({ length: 51 }, (_, index) => line('info', `line ${index}`)));
    const { stdout, stderr } = await agentd('logs');
    expect(stdout.trimEnd().split('\n')).toHaveLength(50);
    expect(stderr).toBe('Only the newest 50 lines are shown; --lines shows more.\n');
    expect((await agentd('logs', '-n', '51')).stderr).toBe('');
    expect((await agentd('logs', '-n', '1')).stderr).toBe(
      'Only the newest line is shown; --lines shows more.\n',
    );
    expect((await agentd('logs', '-n', '0')).stderr).toBe('');
  });

  it('prints the lines unchanged with --json', async () => {
    const wanted = line('error', 'two', { request_id: 'r1', channel: 'pigeon' });
    logged(line('info', 'one'), wanted, line('error', 'three', { request_id: 'r2' }));
    expect(
      (await agentd('logs', '--json', '--level', 'WARNING', '--request', 'r1', '--since', '10m')).stdout,
    ).toBe(`${wanted}\n`);
  });

  it('finds a session by the title of its channel and the beginning of its id', async () => {
    const wanted = line('info', 'one', { session: 'teamchat:T1:D1' });
    logged(wanted, line('info', 'two', { session: 'phonechat:T1:D1' }));
    const found = await agentd('logs', '--json', '--session', 'slack:T1');
    expect(found.stdout).toBe(`${wanted}\n`);
  });

  it('with --json, wraps a line that is not a JSON object in an object', async () => {
    const entry = line('info', 'one');
    logged('Segmentation fault "here"', entry, '[1, 2]', '{"level":"inf');
    const { stdout } = await agentd('logs', '--json');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toEqual([
      { msg: 'Segmentation fault "here"' },
      JSON.parse(entry),
      { msg: '[1, 2]' },
      { msg: '{"level":"inf' },
    ]);
  });

  it('reports that no line matches, and exits with 1 if the file does not exist yet', async () => {
    logged(line('info', 'one'));
    expect(await agentd('logs', '--level', 'fatal')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No line found.\n',
    });
    stubSettings({ LOG_FILE: join(settings.STATE_DIR, 'none.log') });
    expect(await agentd('logs')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/there is no log file yet/),
    });
  });

  it('exits with 78 if LOG_FILE is not set', async () => {
    expect(await agentd('logs')).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/^agentd: LOG_FILE is not set/),
    });
  });

  it.each([
    [['--level', 'loud'], /--level takes one of/],
    [['--since', 'yesterday'], /--since takes/],
    [['-n', '-1'], /--lines takes a whole number/],
  ])('refuses %j with exit code 2', async (argv, message) => {
    logged(line('info', 'one'));
    expect(await agentd('logs', ...argv)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});
