import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { median } from '../bench/rounds.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { read } from '../support/event-stream.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-scaling(7), "Redis Cluster": that the keys of a running daemon are in one slot, and that its work costs as
// many commands as on a single server.

const PIECES = 12;
/** How often each piece of work is repeated to measure it. */
const MEASURED = 11;

describe.skipIf(!hasRedis)('a daemon on a Redis Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let nodes: Redis[];
  const monitors: Redis[] = [];
  let exchange: FakeExchange;
  let directory: string;
  let daemon: Agentd;
  /**
   * The number of commands that clients have sent, without CLUSTER, PING, INFO and MONITOR, and without the commands
   * inside scripts.
   */
  let sent = 0;

  beforeAll(async () => {
    directory = temporaryFolder('cluster');
    cluster = await startCluster(3);
    nodes = [...cluster.url.matchAll(/:(\d+)/g)].map(([, port]) => new Redis(Number(port)));
    exchange = await FakeExchange.start();
    const env = { ...exchange.env(directory), REDIS_URL: cluster.url, LOOP_GUARD_ENABLED: 'true' };
    const lax = { LOOP_GUARD_MAX_MESSAGES: '1000', LOOP_GUARD_REPEAT_THRESHOLD: '1000', SSE_ENABLED: 'true' };
    const platforms = { MESSAGING_PLATFORMS: `sse,webchat,${join(directory, 'telex.ts')}` };
    daemon = await startAgentd({ directory, env: { ...env, ...lax, ...platforms } });
    for (const node of nodes) {
      const monitor = await node.monitor();
      monitors.push(monitor);
      monitor.on('monitor', (_time, [name = '']: string[], source: string) => {
        if (source !== 'lua' && !/^(?:cluster|ping|info|monitor)$/i.test(name)) sent++;
      });
    }
  });
  afterAll(() => {
    for (const client of [...nodes, ...monitors]) client.disconnect();
  });

  const chat = (members: object, headers: Record<string, string> = {}) =>
    post(daemon.url, { user_id: 'u', message: `hello ${Math.random()}`, ...members }, { headers });

  async function tell(thread: string): Promise<void> {
    const body = { messages: [{ id: thread, user: thread, thread, text: 'hello' }] };
    await post(daemon.url, body, { path: '/telex' });
    await exchange.until(() => exchange.textsTo(thread).length === 1);
  }

  async function stream(session_id: string): Promise<void> {
    const options = { path: '/sse/chat' };
    const { body } = await post(daemon.url, { user_id: 'u', session_id, message: 'hello' }, options);
    await read(daemon.url, body.stream_id).holds('event: stream_complete');
  }

  it('keeps everything in one slot', async () => {
    for (let n = 0; n < PIECES; n++) {
      const { status, body } = await chat({}, { 'Idempotency-Key': `key-${n}` });
      expect(status).toBe(200);
      const again = { session_id: body.session_id };
      expect((await chat(again, { 'Idempotency-Key': `next-${n}` })).status).toBe(200);
      await tell(`thread-${n}`);
      await stream(`stream-${n}`);
    }
    const keys = await Promise.all(nodes.map((node) => node.keys('*')));
    expect(keys.filter((some) => some.length > 0)).toHaveLength(1);
    expect(keys.flat().filter((key) => !key.startsWith('agentd:{store}:'))).toEqual([]);
  });

  it('sends few commands for a turn, a stream and a message', async () => {
    const idle_ms = 3000;
    const before = sent;
    await delay(idle_ms);
    const idle = (sent - before) / idle_ms;
    // The median: now and then, what an idle daemon sends is among the commands.
    const cost = async (work: (n: number) => Promise<unknown>) => {
      await work(-1);
      const counts: number[] = [];
      for (let n = 0; n < MEASURED; n++) {
        const start = sent;
        await work(n);
        counts.push(sent - start);
      }
      return median(counts);
    };
    const costs = {
      idle_second: idle * 1000,
      turn: await cost(() => chat({ session_id: 's' })),
      turn_with_key: await cost((n) => chat({ session_id: 's' }, { 'Idempotency-Key': `cost-${n}` })),
      stream: await cost(() => stream('streamed')),
      message: await cost((n) => tell(`alone-${n}`)),
    };
    console.log(costs);
    expect(costs.idle_second).toBeLessThan(12);
    expect(costs.turn).toBeLessThan(12);
    expect(costs.turn_with_key).toBeLessThan(16);
    expect(costs.stream).toBeLessThan(22);
    expect(costs.message).toBeLessThan(30);
  }, 120_000);
});
