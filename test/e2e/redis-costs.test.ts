import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { read } from '../support/event-stream.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-scaling(7), "Costs": the number of commands that the daemon sends for one piece of work, as the Redis
// server counts them.

const PIECES = 20;
/** The number of commands of an idle daemon varies by this much. */
const NOISE = 0.5;
/** Number of simultaneous messages. */
const TOGETHER = 20;
/** How often that many messages are sent. */
const ROUNDS = 5;

describe.skipIf(!hasRedis)('the number of Redis commands', () => {
  let redis: RedisServer;
  let exchange: FakeExchange;
  let directory: string;
  let daemon: Agentd;

  beforeAll(async () => {
    directory = temporaryFolder('costs');
    redis = await startRedis();
    exchange = await FakeExchange.start();
    const env = { ...exchange.env(directory), REDIS_URL: redis.url, LOOP_GUARD_ENABLED: 'true' };
    const lax = { LOOP_GUARD_MAX_MESSAGES: '1000', LOOP_GUARD_REPEAT_THRESHOLD: '1000', SSE_ENABLED: 'true' };
    const platforms = { MESSAGING_PLATFORMS: `sse,webchat,${join(directory, 'telex.ts')}` };
    daemon = await startAgentd({ directory, env: { ...env, ...lax, ...platforms } });
  });
  /**
   * Counts the scripts that ran, and the subscriptions. Commands inside a script do not count, because the daemon does
   * not send them.
   */
  async function commands(): Promise<number> {
    const stats = await redis.client.info('commandstats');
    const calls = (name: string) =>
      Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
    return calls('evalsha') + calls('eval') + calls('subscribe') + calls('unsubscribe');
  }

  /**
   * Returns the number of commands for one piece of work, without the commands that an idle daemon would send in the
   * same time.
   */
  async function cost(work: (n: number) => Promise<void>, pieces = PIECES): Promise<number> {
    await work(-1);
    const idle_ms = 2000;
    const before = await commands();
    await delay(idle_ms);
    const idle = ((await commands()) - before) / idle_ms;
    const [began, start] = [performance.now(), await commands()];
    for (let n = 0; n < pieces; n++) await work(n);
    const all = (await commands()) - start;
    return (all - idle * (performance.now() - began)) / pieces;
  }

  it('for a message of a platform is at most 12 from acceptance to completion, alone and among other messages', async () => {
    const tell = async (thread: string) => {
      const body = { messages: [{ id: thread, user: thread, thread, text: 'hello' }] };
      await post(daemon.url, body, { path: '/telex' });
      await exchange.until(() => exchange.textsTo(thread).length === 1);
    };
    const alone = await cost((n) => tell(`alone-${n}`));
    const among = await cost(async (n) => {
      await Promise.all(Array.from({ length: TOGETHER }, (_, m) => tell(`among-${n}-${m}`)));
    }, ROUNDS);
    console.log(
      `a message of a platform: ${alone.toFixed(1)} alone, ${(among / TOGETHER).toFixed(1)} among others`,
    );
    expect(among / TOGETHER).toBeLessThanOrEqual(12);
    expect(alone).toBeLessThanOrEqual(12 + NOISE);
  });

  it('for a turn of webchat is at most 8', async () => {
    const each = await cost(async (n) => {
      const { status } = await post(daemon.url, { user_id: 'u', session_id: 's', message: `hello ${n}` });
      expect(status).toBe(200);
    });
    console.log(`a turn of webchat: ${each.toFixed(1)} commands`);
    expect(each).toBeLessThanOrEqual(8 + NOISE);
  });

  it.each([
    ['of one piece', 'hello', 15],
    ['of 50 pieces', 'say 50 1', 20],
  ])('for a stream %s, with the message "%s", is at most %s', async (_, message, most) => {
    const each = await cost(async (n) => {
      const { body } = await post(
        daemon.url,
        { user_id: 'u', session_id: 'stream', message: `${message} ${n}` },
        { path: '/sse/chat' },
      );
      await read(daemon.url, body.stream_id).holds('event: stream_complete');
    });
    console.log(`a stream "${message}": ${each.toFixed(1)} commands`);
    expect(each).toBeLessThanOrEqual(most + NOISE);
  });
});
