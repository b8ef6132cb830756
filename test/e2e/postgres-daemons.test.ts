import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { isThorough } from '../support/effort.ts';
import { eventsIn, read, readAll, start as startStream } from '../support/event-stream.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-scaling(7), "Postgres": several daemons on one Postgres, the commands of an administrator, and an outage
// of the server.

/** How to poll for work that another daemon takes over. The death of a daemon is noticed within 15 seconds. */
const TAKEN_OVER = { interval: 100, timeout: 60_000 };

vi.setConfig({ testTimeout: 120_000 });

describe.skipIf(withoutPostgres)('daemons on one Postgres', () => {
  let server: Postgres;
  let url: string;
  let exchange: FakeExchange;
  let directory: string;
  let one: Agentd;
  let two: Agentd;
  const env = () => ({
    ...exchange.env(directory),
    ...{ SESSION_BACKEND: 'postgres', DATABASE_URL: url.replace('postgres@', 'postgres:the-password@') },
    MESSAGING_PLATFORMS: `sse,webchat,${join(directory, 'telex.ts')}`,
    TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_LISTEN: '127.0.0.1:0',
    STATE_DIR: join(directory, 'state'),
  });
  const start = () => startAgentd({ directory, env: env() });
  const run = async (...args: string[]) => {
    const ended = await command(args, { env: env() });
    expect(ended.stdout + ended.stderr).not.toContain('the-password');
    return ended;
  };
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const tell = async ({ url: to }: Agentd, thread: string, text: string) => {
    const body = { messages: [{ id: `${thread}/${text}`, user: thread, thread, text }] };
    return (await post(to, body, { path: '/telex' })).status;
  };
  const ready = async (daemon: Agentd) => {
    const admin = /probes {4}(http:\S+)\/live/.exec(daemon.stdout())?.[1];
    const answer = await fetch(`${admin}/ready`);
    return { status: answer.status, body: (await answer.json()) as { status: string } };
  };

  beforeAll(async () => {
    directory = temporaryFolder('postgres');
    server = await Postgres.start({ durable: true });
    url = await server.createDatabase();
    exchange = await FakeExchange.start();
    [one, two] = await Promise.all([start(), start()]);
  });
  it('continue each other’s sessions, and show them to the commands of an administrator', async () => {
    expect(one.stdout()).toMatch(/postgres 127\.0\.0\.1:\d+\/agentd_1/);
    const say = (to: Agentd, message: string) =>
      post(to.url, { user_id: 'u', session_id: 'shared', message });
    for (const [n, to] of [one, two, one].entries()) expect((await say(to, `m${n}`)).status).toBe(200);
    const listed = await json('sessions', 'list');
    expect(listed).toMatchObject([{ session_id: 'shared', turns: 3 }]);
    const { turns } = await json('sessions', 'show', 'shared');
    expect(turns.map(({ text }: { text: string }) => text)).toEqual(['m0', 'm1', 'm2']);
    expect((await run('explain', 'shared')).stdout).toContain('answered');

    const { replicas } = await json('status', '--url', one.url);
    expect(new Set(replicas.map(({ pid }: { pid: number }) => pid))).toEqual(new Set([one.pid, two.pid]));
    expect(await json('inbox', 'list')).toEqual([]);
    expect(await json('actions', 'list')).toEqual([]);
    const doctor = await run('doctor');
    expect(doctor.stdout).toContain('is intact and can be written');
    expect(doctor.stdout).not.toContain('is off in Postgres');
    expect((await ready(one)).body.status).toBe('ok');
  });

  it('refuse `backup` with the tools that copy the database', async () => {
    const { code, stderr } = await run('backup', join(directory, 'copy.db'));
    expect(code).toBe(1);
    expect(stderr).toContain('pg_dump');
  });

  it.runIf(isThorough)(
    'answer a repeated request from the answer of the other daemon, also at the same time',
    async () => {
      const say = (to: Agentd, key: string) =>
        post(
          to.url,
          { user_id: 'u', session_id: 'idempotent', message: key },
          { headers: { 'Idempotency-Key': key } },
        );
      const first = await say(one, 'k1');
      const again = await say(two, 'k1');
      expect([first.status, again.status]).toEqual([200, 200]);
      expect(again.body).toEqual(first.body);
      const both = await Promise.all([say(one, 'k2'), say(two, 'k2')]);
      expect(both.some(({ status }) => status === 200)).toBe(true);
      const { turns } = await json('sessions', 'show', 'idempotent');
      expect(turns.map(({ text }: { text: string }) => text)).toEqual(['k1', 'k2']);
    },
  );

  it.runIf(isThorough)('keep the order of a session whose messages arrive at both', async () => {
    const texts = Array.from({ length: 12 }, (_, n) => `m${n}`);
    for (const [n, text] of texts.entries()) expect(await tell(n % 2 ? one : two, 'ordered', text)).toBe(200);
    await exchange.until(() => exchange.textsTo('ordered').length >= texts.length);
    expect(exchange.textsTo('ordered')).toEqual(texts.map((text) => `re: ${text}`));
    expect(await tell(two, 'ordered', 'm3')).toBe(200);
    expect(await json('inbox', 'list')).toEqual([]);
  });

  it.runIf(isThorough)('continue a stream that a reader began to read from the other', async () => {
    const stream_id = await startStream(one.url, { user_id: 'u', message: 'say 30 20' });
    const reading = read(one.url, stream_id);
    await reading.holds('data:');
    reading.socket.destroy();
    const seen = eventsIn((await reading.ended).text);
    const headers = { 'Last-Event-ID': seen.at(-1)?.id ?? '' };
    const rest = await readAll(two.url, stream_id, seen.length > 0 ? { headers } : {});
    const all = [...seen, ...rest.events];
    expect(all.map(({ id }) => Number(id))).toEqual(all.map((_, n) => n + 1));
    expect(all.at(-1)?.event).toBe('stream_complete');
    expect(rest.events.length).toBeGreaterThan(0);
  });

  it.runIf(isThorough)('take over the messages of a daemon that is killed', async () => {
    const held = Promise.withResolvers<void>();
    const killed = await start();
    exchange.holdRun = ({ pid }) => (pid === killed.pid ? held.promise : Promise.resolve());
    // Any of the daemons may run a message, whichever has accepted it.
    const runOf = async (text: string) => {
      expect(await tell(killed, text, text)).toBe(200);
      await exchange.until(() => exchange.runs.some((run) => run.text === text));
      return exchange.runs.find((run) => run.text === text);
    };
    let n = 1;
    while ((await runOf(`taken ${n}`))?.pid !== killed.pid) n++;
    killed.signal('SIGKILL');
    await killed.exited;
    await expect.poll(() => exchange.textsTo(`taken ${n}`), TAKEN_OVER).toEqual([`re: taken ${n}`]);
    held.resolve();
    exchange.forget();
  });

  it.runIf(isThorough)(
    'lose nothing that was acknowledged in an outage of the server, say so, and recover by themselves',
    async () => {
      const acknowledged: string[] = [];
      let isOver = false;
      const refused: Response[] = [];
      const other: (number | null)[] = [];
      const sending = [one, two].map(async (to, place) => {
        for (let n = 0; !isOver; n++) {
          const text = `o${place}-${n}`;
          const body = { messages: [{ id: text, user: 'o', thread: 'outage', text }] };
          const answer = await fetch(`${to.url}/telex`, {
            method: 'POST',
            body: JSON.stringify(body),
            headers: { 'Content-Type': 'application/json' },
          });
          if (answer.status === 200) acknowledged.push(`re: ${text}`);
          else if (answer.status === 503) refused.push(answer);
          else other.push(answer.status);
        }
      });
      await expect.poll(() => acknowledged.length, TAKEN_OVER).toBeGreaterThan(20);
      await server.crash();
      await expect.poll(() => refused.length, TAKEN_OVER).toBeGreaterThan(1);
      const chat = await post(one.url, { user_id: 'u', session_id: 'out', message: 'hello' });
      expect(chat.status).toBe(503);
      expect(await ready(one)).toMatchObject({ status: 200, body: { status: 'degraded' } });
      expect((await run('sessions', 'list')).code).toBe(69);
      const before = acknowledged.length;
      await server.resume();
      await expect.poll(() => acknowledged.length, TAKEN_OVER).toBeGreaterThan(before + 10);
      isOver = true;
      await Promise.all(sending);
      expect(other).toEqual([]);
      expect(refused.every(({ headers }) => Number(headers.get('Retry-After')) > 0)).toBe(true);
      const missing = () => {
        const came = new Set(exchange.textsTo('outage'));
        return acknowledged.filter((text) => !came.has(text));
      };
      await expect.poll(missing, TAKEN_OVER).toEqual([]);
      await expect.poll(async () => (await ready(one)).body.status, TAKEN_OVER).toBe('ok');
      expect((await post(one.url, { user_id: 'u', session_id: 'out', message: 'hello' })).status).toBe(200);
    },
  );

  it('link a person, show what is stored about them, and erase every byte of it', async () => {
    const bearer = await token({ sub: 'canaryada', claims: { email: 'canaryada@example.com' } });
    const linked = await command(['link', 'printer', 'tx-canaryuser', '-'], { env: env(), input: bearer });
    expect([linked.code, linked.stdout]).toEqual([0, expect.stringMatching(/^linked canaryuser of telex/)]);
    expect(await json('link', 'list')).toHaveLength(1);
    const body = {
      messages: [{ id: 'canary-m', user: 'canaryuser', thread: 'canarythread', text: 'canary text' }],
    };
    expect((await post(two.url, body, { path: '/telex' })).status).toBe(200);
    await exchange.until(() => exchange.textsTo('canarythread').length === 1);
    const web = { user_id: 'canaryweb', session_id: 'canary-session', message: 'canary question' };
    const headers = { 'Idempotency-Key': 'canary-key' };
    expect((await post(one.url, web, { bearer, headers })).status).toBe(200);
    const stream_id = await startStream(one.url, web, { bearer });
    await readAll(one.url, stream_id, { headers: { Authorization: `Bearer ${bearer}` } });

    const found = async () => {
      const tables = (
        await server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", url)
      ).split('\n');
      const rows = tables.map((table) => `SELECT t::text FROM ${table} t WHERE t::text LIKE '%canary%'`);
      return (await server.sql(rows.join(' UNION ALL '), url)).trim();
    };
    expect(await found()).toContain('canary text');
    const shown = await json('person', 'show', '--sub', 'canaryada');
    expect(JSON.stringify(shown)).toContain('canary question');
    const erase = (...who: string[]) => run('person', 'erase', ...who, '--yes');
    const stderr = expect.stringContaining('archived logs');
    expect(await erase('--sub', 'canaryada')).toMatchObject({ code: 0, stderr });
    // What the linked user wrote belongs to the person.
    expect(await erase('telex:canaryuser')).toMatchObject({ code: 1, stderr });
    expect(await found()).toBe('');
    const oid = await server.sql('SELECT oid FROM pg_database WHERE datname = current_database()', url);
    await server.sql('CHECKPOINT', url);
    const files = globSync(join(server.data, 'base', oid, '*'));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => readFileSync(file).includes('canary'))).toEqual([]);
  });
});
