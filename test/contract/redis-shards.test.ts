import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../src/daemon/errors.ts';
import { guardUser } from '../../src/daemon/guard/user.ts';
import { tagOf } from '../../src/daemon/session/session.ts';
import { parseRedisUrl } from '../../src/daemon/settings/addresses.ts';
import { StoreOfAnotherLayout } from '../../src/daemon/store/failures.ts';
import { idBeside } from '../../src/daemon/store/id-beside.ts';
import type { Arrival, QueuedMessage } from '../../src/daemon/store/inbox.ts';
import { clientOf } from '../../src/daemon/store/redis/client.ts';
import { RedisConnection } from '../../src/daemon/store/redis/connection.ts';
import { RedisKeyspace } from '../../src/daemon/store/redis/keyspace.ts';
import { shardOf } from '../../src/daemon/store/redis/shards.ts';
import { openRedisStore } from '../../src/daemon/store/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { hasRedis } from '../support/redis-server.ts';
import {
  anAction,
  anInboxMessage,
  aPendingAction,
  aSession,
  aStream,
  aTrace,
  aTurn,
  GUARD_LIMITS,
} from './fixtures.ts';
import { claimSession } from './store-writes.ts';

interface Sender {
  user_id: string;
  /** The node that stores how many messages the loop guard has counted for the sender. */
  node: number;
}

function arrivalOf(user_id: string, session_id: string, message_id: string): Arrival {
  const user = guardUser({ platform: 'chat', user_id, person: null, address: null });
  const { message, ...rest } = anInboxMessage({ message_id, session_id, queue: session_id });
  const notice = anInboxMessage({ message_id: null, message: null, reply: 'over', session_id: null });
  const guarded = { user, session_id, text: message_id, message_id, sent_at: null };
  return { message: { ...rest, session_id, message: message as QueuedMessage }, guarded, notice };
}

const HOUR = 60 * 60 * 1000;
const SESSIONS = 60;
const LINK = /^[^:{]+:jwt:|^agentd:\{[^:{}]+:jwt:[^}]*\}:link$/;
const SHARD = /^agentd:\{(s\d\d|all)\}:/;

// On a Cluster, the contract of the store has additional rules. They say which keys must be in one shard.
describe.skipIf(!hasRedis)('a store on a Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let nodes: Redis[];
  let stores: Store[];
  const open = async () => {
    const store = await openRedisStore({ url: cluster.url, traceRetentionMs: HOUR });
    stores.push(store);
    return store;
  };

  beforeAll(async () => {
    cluster = await startCluster(3);
    nodes = [...cluster.url.matchAll(/:(\d+)/g)].map(([, port]) => new Redis(Number(port)));
  });
  beforeEach(async () => {
    await cluster.flush();
    stores = [];
    return async () => void (await Promise.all(stores.map((store) => store.close())));
  });
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    await cluster.stop();
  });

  const keysOf = (node: Redis, pattern = '*') => node.keys(pattern);
  const allKeys = async () => (await Promise.all(nodes.map((node) => keysOf(node)))).flat();

  /** Makes a turn as the daemon does: all its ids are in the shard of its session. Returns the session's last id. */
  async function answer(store: Store): Promise<string> {
    const session = aSession(Date.now());
    const { session_id } = session;
    const beside = () => idBeside(store, session_id, () => randomUUID());
    const claim = await claimSession(store, session_id);
    const message = anInboxMessage({ id: beside(), session_id, queue: session_id, message_id: randomUUID() });
    await store.inbox.enqueue([message]);
    const [inbox_claim] = await store.inbox.claim('run', ['chat'], 1);
    const key = await store.idempotency.claim(randomUUID(), 'body', session_id);
    const { stream_id } = await store.streams.create(aStream({ stream_id: beside() }));
    const stream_claim = await store.streams.claim(stream_id, { owner: null, reader: null });
    if (!inbox_claim || !stream_claim || key.outcome !== 'new') throw new Error('a claim was refused');
    const write = anAction({ action_id: beside(), session_tag: session_id });
    expect(await store.actions.start({ session: claim, key: key.claim }, write)).toEqual({
      outcome: 'started',
    });
    const outcome = await store.commitTurn(claim, {
      session,
      turn: { record: aTurn(), ttl_ms: HOUR },
      trace: aTrace(session),
      reply: { claim: inbox_claim, text: 'the reply' },
      pending: aPendingAction(session, { action_id: beside() }),
      answer: { claim: key.claim, answer: { session_id, response: 'x' }, ttl_ms: HOUR },
      events: { claim: stream_claim, events: [{ id: 1, event: 'stream_complete', data: '{}' }] },
    });
    expect(outcome).toBe('committed');
    const renamed = { ...session, session_id: beside(), former_id: session_id, turns: 1 };
    expect(await store.sessions.save(claim, renamed, 'changed')).toBe('saved');
    await store.sessions.release(claim);
    await store.inbox.settle(inbox_claim, { kind: 'sent' });
    return renamed.session_id;
  }

  it('spreads sessions over all nodes', async () => {
    const store = await open();
    for (let n = 0; n < SESSIONS; n++) await answer(store);
    for (const node of nodes) {
      const sessions = await keysOf(node, 'agentd:{s*}:session:*:state');
      expect(sessions.length).toBeGreaterThan(SESSIONS / 10);
    }
  });

  it('stores all keys of a session in one slot, and all keys except links in shards', async () => {
    const store = await open();
    const ids = [await answer(store), await answer(store)];
    const link = { key: 'chat:jwt:u1', token: 't', person: 'p' as never, ttl_ms: HOUR };
    await store.links.put(link, null);
    const keys = await allKeys();
    expect(keys.filter((key) => !SHARD.test(key) && !LINK.test(key))).toEqual([]);
    const tags = await Promise.all(
      ids.map(async (id) => shardOf(tagOf((await store.sessions.find(id)) ?? aSession(0)))),
    );
    const kinds = /}:(session|action|key|stream|actions-of-[a-z]+|pending-[a-z]+):/;
    const elsewhere = keys.filter((key) => kinds.test(key) && !tags.some((tag) => key.includes(`{${tag}}`)));
    expect(elsewhere).toEqual([]);
    // No id had to be found through a pointer from another shard.
    expect(keys.filter((key) => key.includes(':moved:'))).toEqual([]);
  });

  it('finds the stored answer for every repeated request, whichever daemon gets the request', async () => {
    const [one, two] = [await open(), await open()];
    const session_id = randomUUID();
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).idempotency.claim('k', 'body', session_id)),
    );
    const outcomes = claims.map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(['new', ...Array<string>(19).fill('running')].sort());
    const first = claims.find((found) => found.outcome === 'new');
    if (first?.outcome !== 'new') throw new Error('no request could claim the key');
    const claim = await claimSession(one, session_id);
    const answer = { claim: first.claim, answer: { session_id, response: 'x' }, ttl_ms: HOUR };
    expect(await one.commitTurn(claim, { trace: aTrace(null), answer })).toBe('committed');
    for (const store of [one, two]) {
      expect(await store.idempotency.claim('k', 'body', session_id)).toMatchObject({ outcome: 'done' });
      expect(await store.idempotency.look('k', 'body')).toMatchObject({ outcome: 'done' });
      // The same key with another body, which names a session in another shard.
      expect(await store.idempotency.claim('k', 'other', elsewhere(session_id))).toEqual({
        outcome: 'other_body',
      });
    }
  });

  it('frees an idempotency key if the process that bound it to a shard died before it claimed the key', async () => {
    const store = await open();
    const session_id = randomUUID();
    const found = await store.idempotency.claim('k', 'body', elsewhere(session_id));
    if (found.outcome !== 'new') throw new Error('the key was already claimed');
    await store.idempotency.release(found.claim);
    await Promise.all(
      nodes.map(async (node) => {
        for (const key of await keysOf(node, 'agentd:{*}:key:k:*')) await node.del(key);
      }),
    );
    expect(await store.idempotency.claim('k', 'other', session_id)).toMatchObject({ outcome: 'new' });
    expect(await store.idempotency.claim('k', 'other', session_id)).toMatchObject({ outcome: 'running' });
  });

  it('counts the messages of a user exactly, across many sessions and two daemons', async () => {
    const both = [await open(), await open()];
    const user = guardUser({ platform: 'chat', user_id: 'u', person: null, address: null });
    const verdicts = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        (both[n % 2] as Store).guard.check(
          { user, session_id: randomUUID(), text: randomUUID(), message_id: null, sent_at: null },
          GUARD_LIMITS,
        ),
      ),
    );
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(GUARD_LIMITS.max_messages);
  });

  it('counts a repeated message once, even if a process died before it counted it for the session', async () => {
    const store = await open();
    const message_id = randomUUID();
    const session_id = randomUUID();
    const user = guardUser({ platform: 'chat', user_id: `user beside nobody`, person: null, address: null });
    const message = { user, session_id, text: 'a', message_id, sent_at: null };
    await store.guard.check(message, GUARD_LIMITS);
    // This is as if the process had died before it counted the message in the session.
    await Promise.all(
      nodes.map(async (node) => {
        for (const key of await keysOf(node, `agentd:{${shardOf(session_id)}}:*`))
          if (/:seen:chat:|:count$/.test(key)) await node.del(key);
      }),
    );
    expect(await store.guard.check(message, GUARD_LIMITS)).toMatchObject({
      repeated: false,
      messages: 1,
      turns: 1,
    });
    expect(await store.guard.check(message, GUARD_LIMITS)).toMatchObject({
      repeated: true,
      messages: 1,
      turns: 1,
    });
    const other = { ...message, message_id: randomUUID(), text: 'b' };
    expect(await store.guard.check(other, GUARD_LIMITS)).toMatchObject({ messages: 2, turns: 2 });
  });

  it('keeps the messages of a session in the order of arrival even if the node of one sender is slow', async () => {
    const store = await open();
    const session_id = 'chat:room';
    const own = await cluster.masterOf(`{${shardOf(session_id)}}`);
    const first = await senderOn((node) => node !== own);
    const second = await senderOn((node) => node === own);
    const screen = (sender: Sender, id: string) =>
      store.inbox.screen([arrivalOf(sender.user_id, session_id, id)], GUARD_LIMITS);
    await nodes[first.node]?.call('CLIENT', 'PAUSE', 300, 'ALL');
    await Promise.all([screen(first, 'm1'), screen(second, 'm2')]);
    const claims = await store.inbox.claim('run', ['chat'], 1);
    expect(claims.map(({ message }) => message.message_id)).toEqual(['m1']);
  });

  it('runs a script only once, even if the client loses its connection while the script runs', async () => {
    const client = clientOf(parseRedisUrl(cluster.url)) as Cluster;
    client.on('error', () => undefined);
    await client.connect();
    const node = await cluster.masterOf('{k}');
    const busy = `local n = redis.call('INCR', KEYS[1]) for i = 1, 2e7 do n = n + 0 end return n`;
    let value: string | null = null;
    // A busy machine may close the connection before the server has received the script. Then the test tries again.
    while (value === null) {
      const ran = client.eval(busy, 1, '{k}').catch(() => 'rejected');
      await vi.waitFor(async () => {
        // The node answers no other command while the script runs.
        const answered = await Promise.race([nodes[node]?.ping(), delay(5)]);
        if (answered !== undefined) throw new Error('the script does not run yet');
      });
      for (const one of client.nodes('master')) one.stream?.destroy();
      expect(await ran).toBe('rejected');
      await vi.waitFor(() => client.ping());
      await delay(300);
      value = (await nodes[node]?.get('{k}')) ?? null;
    }
    expect(value).toBe('1');
    client.disconnect();
  });

  it('refuses operations on a slot that is being moved to another node, and misses no key afterwards', async () => {
    const store = await open();
    const key = JSON.stringify(['web', ['client', '192.0.2.7', 'once']]);
    const claimed = await store.idempotency.claim(key, 'body', 's');
    if (claimed.outcome !== 'new') throw new Error('the key was already claimed');
    await store.idempotency.finish(claimed.claim, { session_id: 's', response: 'first' }, HOUR);
    const claim = await claimSession(store, 's');
    const commit = () => store.commitTurn(claim, { trace: aTrace(null) });
    const repeat = () => store.idempotency.claim(key, 'body', 's');
    const move = await cluster.moveSlot(`{${shardOf('s')}}`);
    const refusesAll = async () => {
      const all = [commit(), repeat(), store.sessions.find('s')];
      for (const one of await Promise.allSettled<unknown>(all))
        expect(one).toEqual({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    };
    await refusesAll();
    await move.keys((name) => name.includes(':key:'));
    await refusesAll();
    await move.finish();
    expect(await repeat()).toMatchObject({ outcome: 'done', answer: { response: 'first' } });
    expect(await commit()).toBe('committed');
  });

  it('lists all keys, or refuses to list them if slots are moved in the meantime', async () => {
    const connection = new RedisConnection(parseRedisUrl(cluster.url), { constants: {} });
    await connection.connect();
    const listed = new RedisKeyspace(connection).scan('*');
    await answer(await open());
    const moves = [await cluster.moveSlot('{s00}'), await cluster.moveSlot('{s01}')] as const;
    await expect(new RedisKeyspace(connection).scan('*').next()).rejects.toThrow(StoreUnavailable);
    await moves[0].cancel();
    await moves[1].cancel();
    expect((await listed.next()).done).toBe(false);
    // After three moves, the slot is on its first node again.
    const first = await cluster.masterOf('{s00}');
    for (let n = 0; n < 3; n++) await (await cluster.moveSlot('{s00}')).finish();
    expect(await cluster.masterOf('{s00}')).toBe(first);
    await expect(listed.next()).rejects.toThrow(StoreUnavailable);
    connection.close();
  });

  it('reports an outage if the node to which a slot is being moved fails', async () => {
    const pair = await startCluster(2);
    onTestFinished(() => pair.stop());
    const store = await openRedisStore({ url: pair.url, traceRetentionMs: HOUR });
    stores.push(store);
    await store.sessions.find('s');
    const key = `{${shardOf('s')}}`;
    const from = await pair.masterOf(key);
    await pair.moveSlot(key);
    await pair.kill(1 - from);
    await expect(store.sessions.find('s')).rejects.toThrow(StoreUnavailable);
  });

  it('has no link of a user whose id has braces, because they decide the slot of a key', async () => {
    const { links } = await open();
    for (const key of ['chat:jwt:a}b', 'chat:jwt:{a}b', 'chat:jwt:a{b']) {
      expect(await links.get(key), key).toBeNull();
      expect(await links.remove(key), key).toBe(false);
      const link = { key, token: 'a.b.c', person: '["","","ada"]' as never, ttl_ms: HOUR };
      await expect(links.put(link, null), key).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('does not reveal an idempotency key in the name of the record of its shard', async () => {
    const store = await open();
    const key = JSON.stringify(['web', ['client', '192.0.2.7', 'canary']]);
    await store.idempotency.claim(key, 'body', elsewhere(key));
    const bound = (await allKeys()).filter((name) => name.includes(':bound:'));
    expect(bound).toHaveLength(1);
    expect(bound.join()).not.toContain('canary');
  });

  it('does not open if it finds keys of an earlier layout, which kept all keys on one node', async () => {
    const slot = await cluster.masterOf('agentd:{agentd}:inbox:clock');
    await nodes[slot]?.set('agentd:{agentd}:inbox:clock', 1);
    await expect(open()).rejects.toThrow(StoreOfAnotherLayout);
  });

  /** Finds a sender whose messages are counted on a node that `fits` accepts. */
  async function senderOn(fits: (node: number) => boolean): Promise<Sender> {
    for (let n = 0; ; n++) {
      const user_id = `u${n}`;
      const { key } = guardUser({ platform: 'chat', user_id, person: null, address: null });
      const node = await cluster.masterOf(`{${shardOf(key)}}`);
      if (fits(node)) return { user_id, node };
    }
  }

  /** A session id in another shard. */
  function elsewhere(session_id: string): string {
    for (;;) {
      const id = randomUUID();
      if (shardOf(id) !== shardOf(session_id)) return id;
    }
  }
});
