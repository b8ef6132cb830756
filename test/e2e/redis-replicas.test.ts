import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { isThorough } from '../support/effort.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-scaling(7): several daemons on one Redis, and what happens to the work of a daemon that dies or is
// paused.

const THREADS = 6;
const EACH = 5;
/** How to poll for work that another daemon takes over. The death of a daemon is noticed within 15 seconds. */
const TAKEN_OVER = { interval: 100 };

describe.skipIf(!hasRedis)('daemons on one Redis', () => {
  let redis: RedisServer;
  let exchange: FakeExchange;
  let directory: string;
  const env = () => ({
    ...exchange.env(directory),
    REDIS_URL: redis.url,
    TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    STATE_DIR: join(directory, 'state'),
  });
  const start = (more: Record<string, string> = {}) => startAgentd({ directory, env: { ...env(), ...more } });
  const run = (...args: string[]) => command(args, { env: env() });
  const tell = async ({ url }: Agentd, thread: string, text: string) => {
    const body = { messages: [{ id: `${thread}/${text}`, user: thread, thread, text }] };
    const { status } = await post(url, body, { path: '/telex' });
    expect(status).toBe(200);
  };

  beforeAll(async () => {
    directory = temporaryFolder('replicas');
    redis = await startRedis(['--appendonly', 'yes']);
    exchange = await FakeExchange.start();
  });
  it('continue each other’s sessions, are listed by `agentd status`, and warn about settings that differ', async () => {
    const [one, two] = await Promise.all([start(), start({ LOOP_GUARD_MAX_MESSAGES: '7' })]);
    expect(one.stdout()).toContain(`redis ${redis.url.slice('unix:'.length)}`);
    const first = await post(one.url, { user_id: 'u', session_id: 'shared', message: 'one' });
    const second = await post(two.url, { user_id: 'u', session_id: 'shared', message: 'two' });
    expect([first.status, second.status]).toEqual([200, 200]);
    await two.logged(({ setting }) => setting === 'LOOP_GUARD_MAX_MESSAGES');

    const status = JSON.parse((await run('status', '--json', '--url', one.url)).stdout);
    expect(status.replicas).toHaveLength(2);
    expect(status.replicas).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ pid: one.pid, runs: 0, version: expect.any(String) }),
        expect.objectContaining({ pid: two.pid, uptime_seconds: expect.any(Number) }),
      ]),
    );
    const listed = JSON.parse((await run('sessions', 'list', '--json')).stdout);
    expect(listed).toMatchObject([{ session_id: 'shared', turns: 2 }]);
    const doctor = await run('doctor');
    expect(doctor.stdout).toContain('is intact and can be written');
    expect(doctor.stdout).not.toContain('append-only');

    expect(await one.stop()).toBe(0);
    const after = JSON.parse((await run('status', '--json', '--url', two.url)).stdout);
    expect(after.replicas).toMatchObject([{ pid: two.pid }]);
    await two.stop();
  });

  it.runIf(isThorough)(
    'sign nobody out while the secret of tokens is being changed, as agentd-identity(7) says',
    async () => {
      const [old, next] = ['the-old-secret-of-at-least-256-bits-', 'the-next-secret-of-at-least-256-bits'];
      const admin = { ADMIN_LISTEN: '127.0.0.1:0' };
      const startWith = (JWT_SECRET_KEY: string) => start({ ...admin, JWT_SECRET_KEY });
      const accepted = async (daemon: Agentd) => {
        const { address } = await daemon.logged(({ msg }) => /^the admin listener answers/.test(String(msg)));
        const text = await (await fetch(`${address}/metrics`)).text();
        return text.split('\n').filter((line) => line.startsWith('agentd_token_keys_total'));
      };
      /** Whom the daemon acts for, and with which key it accepted the token. */
      const answeredAs = async ({ url }: Agentd, session_id: string | undefined, bearer?: string) => {
        const request = `rotation-${++messages}`;
        const { status, body } = await post(
          url,
          { user_id: 'u', message: 'Hello', ...(session_id === undefined ? {} : { session_id }) },
          { headers: { 'X-Request-Id': request }, ...(bearer === undefined ? {} : { bearer }) },
        );
        expect(status).toBe(200);
        const { traces } = JSON.parse((await run('explain', request, '--json')).stdout);
        const identify = traces[0].lines.find(({ step }: { step: string }) => step === 'identify');
        return {
          sub: traces[0].acted_for as string | null,
          reason: identify.reason as string,
          key: identify.detail?.key as number | undefined,
          session_id: body.session_id as string,
        };
      };
      let messages = 0;
      const [ada, bob] = await Promise.all([
        token({ sub: 'ada', secret: old }),
        token({ sub: 'bob', secret: next }),
      ]);

      // Before: both daemons have the old secret. Somebody signs in for a whole session.
      let [one, two] = await Promise.all([startWith(old), startWith(old)]);
      const lasting = await answeredAs(one, undefined, ada);
      expect(lasting).toMatchObject({ sub: 'ada', key: undefined });
      const isStillSignedIn = async (daemon: Agentd) =>
        expect(await answeredAs(daemon, lasting.session_id)).toMatchObject({ sub: 'ada' });

      // 1. The next secret before the old one, in one daemon after another. The site signs with the old secret.
      await one.stop();
      one = await startWith(`${next}\n${old}`);
      expect(await answeredAs(one, 's-1', ada)).toMatchObject({ sub: 'ada', key: 2 });
      expect(await answeredAs(two, 's-1', ada)).toMatchObject({ sub: 'ada', key: undefined });
      await isStillSignedIn(one);
      await isStillSignedIn(two);
      await two.stop();
      two = await startWith(`${next}\r\n${old}\n`);

      // 2. The site signs with the next secret. Tokens from before are still in use.
      for (const daemon of [one, two]) {
        expect(await answeredAs(daemon, 's-1', ada)).toMatchObject({ sub: 'ada', key: 2 });
        expect(await answeredAs(daemon, 's-2', bob)).toMatchObject({ sub: 'bob', key: 1 });
        await isStillSignedIn(daemon);
      }
      expect(await accepted(one)).toEqual([
        'agentd_token_keys_total{key="2"} 2',
        'agentd_token_keys_total{key="1"} 1',
      ]);
      // Now both have the same keys, however their lines end.
      expect(two.log()).not.toContainEqual(expect.objectContaining({ setting: 'JWT_SECRET_KEY' }));

      // 3. No valid token is signed with the old secret, so it is removed.
      await one.stop();
      one = await startWith(next);
      expect(await answeredAs(one, 's-2', bob)).toMatchObject({ sub: 'bob', key: undefined });
      expect(await answeredAs(two, 's-2', bob)).toMatchObject({ sub: 'bob', key: 1 });
      expect(await answeredAs(one, 's-3', ada)).toMatchObject({ sub: null, reason: 'Invalid Signature' });
      expect(await accepted(one)).toEqual([]);
      await Promise.all([one.stop(), two.stop()]);
    },
  );

  it.runIf(isThorough)(
    'open each other’s sealed tokens while a key is being changed, and reseal them when all daemons have the same keys',
    async () => {
      const [old, next] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
      const first = await start({ TOKEN_ENCRYPTION_KEY: `${old},${next}` });
      const second = await start({ TOKEN_ENCRYPTION_KEY: `${next},${old}` });
      const [ada, bob] = await Promise.all([token({ sub: 'ada' }), token({ sub: 'bob' })]);
      const say = async (daemon: Agentd, user_id: string, session_id?: string, bearer?: string) => {
        const { status, body } = await post(
          daemon.url,
          { user_id, session_id, message: 'hi' },
          bearer ? { bearer } : {},
        );
        expect(status).toBe(200);
        return String(body.session_id);
      };
      const ofAda = await say(first, 'ada', undefined, ada);
      const ofBob = await say(second, 'bob', undefined, bob);
      await say(second, 'ada', ofAda);
      await say(first, 'bob', ofBob);
      const used = async (id: string) => {
        const [turn] = JSON.parse((await run('sessions', 'show', id, '--json')).stdout).turns.slice(-1);
        return turn.person;
      };
      for (const id of [ofAda, ofBob]) expect(await used(id)).not.toBeNull();
      const keys = async (value: string) => {
        const { stdout } = await command(['keys', 'list', '--json'], {
          env: { ...env(), TOKEN_ENCRYPTION_KEY: value },
        });
        return (JSON.parse(stdout) as { texts: number }[]).map(({ texts }) => texts);
      };
      const sealed = await keys(`${next},${old}`);
      expect(sealed.every((texts) => texts > 0)).toBe(true);
      const sum = sealed.reduce((all, texts) => all + texts, 0);

      await first.stop();
      const third = await start({ TOKEN_ENCRYPTION_KEY: `${next},${old}` });
      await expect.poll(() => keys(`${next},${old}`), TAKEN_OVER).toEqual([sum, 0]);
      await say(third, 'ada', ofAda);
      expect(await used(ofAda)).not.toBeNull();
      await Promise.all([second.stop(), third.stop()]);
    },
  );

  it('take over the work of a killed or paused daemon; a paused daemon writes nothing when it continues', async () => {
    exchange.forget();
    const held = Promise.withResolvers<void>();
    exchange.holdRun = ({ text }) =>
      text === 'held' && exchange.runs.filter((run) => run.text === 'held').length === 1
        ? held.promise
        : new Promise((resolve) => setTimeout(resolve, 20));

    const sleeping = await start();
    await tell(sleeping, 'sleepy', 'held');
    await exchange.until(() => exchange.runs.length === 1);
    sleeping.signal('SIGSTOP');

    const [killed, alive] = await Promise.all([start(), start()]);
    let inFlight = 0;
    for (let n = 0; n < EACH; n++) {
      for (let thread = 0; thread < THREADS; thread++) {
        const to = n < 2 && thread % 2 === 0 ? killed : alive;
        await tell(to, `t${thread}`, `m${n}`);
      }
      if (n === 1) {
        inFlight = exchange.runs.length - exchange.taken.length;
        killed.signal('SIGKILL');
        await killed.exited;
      }
    }
    const all = () => Array.from({ length: THREADS }, (_, n) => new Set(exchange.textsTo(`t${n}`)).size);
    await expect.poll(all, TAKEN_OVER).toEqual(Array(THREADS).fill(EACH));
    await expect.poll(() => exchange.textsTo('sleepy'), TAKEN_OVER).toEqual(['re: held']);

    sleeping.signal('SIGCONT');
    held.resolve();
    await sleeping.logged(({ msg }) => String(msg).includes('claim was lost'));
    await tell(alive, 'sleepy', 'next');
    await exchange.until(() => exchange.textsTo('sleepy').includes('re: next'));
    expect(exchange.textsTo('sleepy')).toEqual(['re: held', 're: next']);

    let doubled = 0;
    for (let n = 0; n < THREADS; n++) {
      const texts = exchange.textsTo(`t${n}`);
      const inOrder = Array.from({ length: EACH }, (_, m) => `re: m${m}`);
      expect([...new Set(texts)]).toEqual(inOrder);
      doubled += texts.length - EACH;
    }
    expect(doubled).toBeLessThanOrEqual(Math.max(1, inFlight));
    const shown = JSON.parse((await run('sessions', 'show', 'telex:sleepy', '--json')).stdout);
    expect(JSON.stringify(shown).match(/re: held/g)).toHaveLength(1);
  });
});
