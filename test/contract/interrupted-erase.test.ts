import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../src/daemon/errors.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { MemoryKernel, MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { RedisConnection } from '../../src/daemon/store/kernels/redis/connection.ts';
import { RedisKernel } from '../../src/daemon/store/kernels/redis/kernel.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import {
  countRecords,
  type PersonSelector,
  type PersonStore,
} from '../../src/daemon/store/persons/persons.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { effort, isThorough } from '../support/effort.ts';
import { aResident, fillAsPerson, fillAsUser, PLATFORM } from '../support/person-world.ts';
import { type RedisServers, startCluster } from '../support/redis-cluster.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
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
import { claimSession, commitUnderClaim, keepTurn, saveSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const ada = aResident('Ada');
/** The session in which Ada wrote before and after she signed in. */
const SESSION = `mixed-${ada.canary}`;
/** One erasure for the person, one for the user of the platform. The links of the person are those that still exist. */
const SELECTORS: ((store: Store) => Promise<PersonSelector>)[] = [
  async (store) => {
    const links = await store.links.list({ limit: 9 });
    return { person: ada.person, link_keys: links.map(({ key }) => key) };
  },
  async () => ({ platform: PLATFORM, user_id: ada.user_id }),
];

/**
 * Stores everything that only the sessions of Ada tie to her, because she had not signed in yet: the records contain no
 * id of hers, except for the word by which the test recognizes her data.
 */
async function fillSession(store: Store, { canary, person }: typeof ada): Promise<void> {
  const session = aSession(Date.now(), {
    session_id: SESSION,
    former_id: `former-${canary}`,
    user_id: `web${canary}`,
    owner: person,
  });
  await saveSession(store, session);
  const session_id = SESSION;
  const tag = `former-${canary}`;
  const message_id = `asks-${canary}`;
  const user = guardUser({ platform: 'chat', user_id: `web${canary}`, person, address: null });
  await store.guard.check({ user, session_id: tag, text: 'hash', message_id, sent_at: null }, GUARD_LIMITS);
  const key = JSON.stringify(['chat', ['client', '192.0.2.7', `key-${canary}`]]);
  const found = await store.idempotency.claim(key, 'body');
  if (found.outcome !== 'new') throw new Error('the key is known');
  const record = aTurn({ user_id: `web${canary}`, message_id, text: canary });
  const outcome = await commitUnderClaim(store, tag, {
    turn: { record, ttl_ms: HOUR },
    trace: aTrace(session, { user_id: canary, message_id, turn_id: record.turn_id }),
    pending: [aPendingAction(session, { summary: `${canary} pending` })],
    answer: { claim: found.claim, answer: { session_id, response: canary }, ttl_ms: HOUR },
  });
  if (outcome !== 'committed') throw new Error(`the turn was not committed: ${outcome}`);
  await store.actions.start(null, anAction({ session_tag: tag, session_id, args: `{"a":"${canary}"}` }));
  const stream = aStream({ stream_id: `mixed-st-${canary}`, idempotency_key: `stream-key-${canary}` });
  stream.start.session_id = session_id;
  stream.start.message.text = canary;
  await store.streams.create(stream);
  await store.inbox.enqueue([
    anInboxMessage({ session_id, queue: tag, message_id: `waits-${canary}`, text: canary }),
  ]);
  await keepTurn(store, session, { user_id: `web${canary}`, person, text: `${canary} signed in` });
}

/**
 * Stores what only another record ties to Ada: the guard's counter of a user that is linked to her, what that user was
 * told at sign-in, and the message count of a session that was never stored, because its stream was not opened.
 */
async function fillTied(store: Store, { canary, person }: typeof ada): Promise<void> {
  const user_id = `V${canary}`;
  await store.links.put({ key: `${PLATFORM}:jwt:${user_id}`, token: 'token', person, ttl_ms: HOUR });
  const count = (session_id: string, user: ReturnType<typeof guardUser>) =>
    store.guard.check({ user, session_id, text: 'hash', message_id: null, sent_at: null }, GUARD_LIMITS);
  await count('a-session', guardUser({ platform: PLATFORM, user_id, person: null, address: null }));
  const message_id = `signs-in-${canary}`;
  const found = await store.idempotency.claim(`link:${JSON.stringify([PLATFORM, user_id, message_id])}`, '');
  if (found.outcome !== 'new') throw new Error('the key is known');
  await store.idempotency.finish(found.claim, { session_id: '', response: `"${canary}"`, person }, HOUR);
  const told = { message: null, session_id: null, reply: `${canary} is signed in`, reply_to: {} };
  await store.inbox.enqueue([anInboxMessage({ ...told, platform: PLATFORM, message_id })]);
  const stream = aStream({ stream_id: `waits-${canary}`, owner: person });
  stream.start.session_id = `unopened-${canary}`;
  await store.streams.create(stream);
  const nobody = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
  await count(stream.start.session_id, nobody);
}

interface Servers {
  open(): Promise<Store>;
  flush(): Promise<unknown>;
  /** The keys that contain the word, in the key itself or in its value. */
  keysOf(word: string): Promise<string[]>;
  /** Ends all claims of sessions, as if they had expired. */
  endClaims(): Promise<void>;
  stop(): Promise<void>;
}

async function startMemory(): Promise<Servers> {
  const state = new MemoryState();
  const maps = [state.documents, state.indexes, state.rings];
  return {
    open: async () => openMemoryStore(state, { clock: { now: () => Date.now() }, traceRetentionMs: HOUR }),
    flush: async () => maps.forEach((map) => void map.clear()),
    async keysOf(word) {
      const documents = [...state.documents].flatMap(([kind, all]) =>
        [...all].map(([key, { doc, items }]) => `${kind} ${key} ${JSON.stringify([doc, items])}`),
      );
      const logged = [...state.rings].map(([name, records]) => `${name} ${JSON.stringify(records)}`);
      return [...documents, ...logged].filter((text) => text.includes(word));
    },
    endClaims: async () => undefined,
    stop: async () => undefined,
  };
}

async function startServers(start: () => Promise<RedisServer | RedisServers>): Promise<Servers> {
  const servers = await start();
  const nodes =
    'client' in servers
      ? [servers.client]
      : [...servers.url.matchAll(/:(\d+)/g)].map(([, port]) => new Redis(Number(port)));
  // Values are searched as they are dumped. Without snapshots, the servers need not rewrite files.
  for (const node of nodes) await node.config('SET', 'rdbcompression', 'no', 'save', '');
  return {
    open: () => openRedisStore({ url: servers.url, traceRetentionMs: HOUR }),
    flush: () => servers.flush(),
    async keysOf(word) {
      const some = nodes.map(async (node) => {
        const keys = await node.keys('*');
        const dumps = await Promise.all(keys.map((key) => node.dumpBuffer(key)));
        return keys.filter((key, place) => key.includes(word) || dumps[place]?.includes(word));
      });
      return (await Promise.all(some)).flat();
    },
    async endClaims() {
      for (const node of nodes)
        for (const key of await node.keys('agentd:{store}:session_claim:*')) await node.del(key);
    },
    async stop() {
      for (const node of nodes) node.disconnect();
      await servers.stop();
    },
  };
}

/**
 * The servers, their kernel, and the distance between the places at which an attempt is interrupted. The rules are the
 * same on all kernels, so only the store in memory is interrupted everywhere in `npm test`.
 */
const SERVERS: [
  name: string,
  start: () => Promise<Servers>,
  kernel: typeof MemoryKernel,
  distance: number,
][] = [['memory', startMemory, MemoryKernel, 1]];
if (hasRedis) {
  const kernel = RedisKernel as never;
  SERVERS.push(['a single server', () => startServers(startRedis), kernel, effort(13, 1)]);
  if (isThorough) SERVERS.push(['a Cluster', () => startServers(() => startCluster(3)), kernel, 1]);
}

describe.each(SERVERS)('an erasure on %s', (_, start, { prototype: kernel }, distance) => {
  let servers: Servers;
  let store: Store;
  /** Another daemon. */
  let other: Store;
  let persons: PersonStore;

  beforeAll(async () => {
    servers = await start();
    store = await servers.open();
    other = await servers.open();
    persons = store.persons as PersonStore;
  });
  beforeEach(async () => {
    await fill();
    expect(await servers.keysOf(ada.canary)).not.toEqual([]);
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(async () => {
    await store.close();
    await other.close();
    await servers.stop();
  });

  async function fill(): Promise<void> {
    await servers.flush();
    await fillAsPerson(store, Date.now(), ada);
    await fillAsUser(store, Date.now(), ada);
    await fillSession(store, ada);
    await fillTied(store, ada);
  }

  /** Erases everything, after an attempt that `interrupt` ends. @returns whether it ended an attempt. */
  async function eraseAgain(interrupt: () => void): Promise<boolean> {
    let interrupted = false;
    for (const select of SELECTORS) {
      const of = await select(store);
      interrupt();
      const outcome = await persons.erase(of).then(
        () => null,
        (error: unknown) => error,
      );
      vi.restoreAllMocks();
      if (outcome === null) continue;
      expect(outcome).toBeInstanceOf(StoreUnavailable);
      interrupted = true;
      await persons.erase(await select(store));
      expect(countRecords(await persons.show(of))).toBe(0);
    }
    return interrupted;
  }

  /** Calls `work` before each step and each deletion of logged records. */
  function beforeSteps(work: () => void): void {
    for (const name of ['step', 'unlog'] as const) {
      const original = kernel[name];
      vi.spyOn(kernel, name).mockImplementation(async function (this: MemoryKernel, ...given: unknown[]) {
        work();
        return Reflect.apply(original, this, given) as never;
      });
    }
  }

  /** Calls `work` before each list of documents. */
  function beforeScans(work: () => void): void {
    const { scan } = kernel;
    vi.spyOn(kernel, 'scan').mockImplementation(async function* (this: MemoryKernel, ...given) {
      work();
      yield* Reflect.apply(scan, this, given) as ReturnType<typeof scan>;
    });
  }

  const END = () => new StoreUnavailable(new Error('the test has ended the connection'));

  /** From the step with this number on, everything fails, as if the process had been killed. */
  function failFrom(step: number): void {
    let left = step;
    const expectAlive = () => {
      if (left <= 0) throw END();
    };
    beforeSteps(() => {
      expectAlive();
      left--;
    });
    beforeScans(expectAlive);
  }

  /**
   * Erases everything again and again. `interrupt` ends an attempt at the given place. Expects that a repeat leaves
   * nothing. @returns the first place that an attempt does not reach.
   */
  async function interruptEverywhere(interrupt: (place: number) => void): Promise<number> {
    const left: Record<number, string[]> = {};
    let place = 0;
    for (; await eraseAgain(() => interrupt(place)); place += distance) {
      const keys = await servers.keysOf(ada.canary);
      if (keys.length > 0) left[place] = keys;
      await fill();
    }
    expect(left).toEqual({});
    return place;
  }

  it('leaves nothing of the person if it is repeated after it was interrupted', async () => {
    expect(await interruptEverywhere(failFrom)).toBeGreaterThan(20);
    expect(await servers.keysOf(ada.canary)).toEqual([]);
  });

  it('leaves nothing of the person if it is repeated after the documents could not be listed', async () => {
    const failScan = (number: number) => {
      let scans = 0;
      beforeScans(() => {
        if (scans++ === number) throw END();
      });
    };
    expect(await interruptEverywhere(failScan)).toBeGreaterThan(10);
  });

  const asPerson = { person: ada.person, link_keys: [] };
  const tag = `former-${ada.canary}`;

  const isRedis = start !== startMemory;

  /** Calls `work` once, just before the write to Redis with this number. */
  function beforeWrite(number: number, work: () => Promise<unknown>): void {
    const { run } = RedisConnection.prototype;
    let left = number;
    vi.spyOn(RedisConnection.prototype, 'run').mockImplementation(async function (
      this: RedisConnection,
      name,
      ...rest
    ) {
      if (name === 'commit' && left-- === 0) {
        vi.restoreAllMocks();
        await work();
      }
      return run.call(this, name, ...rest);
    });
  }

  it.runIf(isRedis)('lets no run begin in a session that is being erased', async () => {
    const claims: unknown[] = [];
    const claim = async () => void claims.push(await other.sessions.claim(tag));
    beforeWrite(4, claim);
    const { sessions } = await persons.erase(asPerson);
    expect(claims).toEqual([null]);
    expect(sessions).toHaveLength(2);
    expect(await store.sessions.find(SESSION)).toBeNull();
    expect(await store.sessions.claim(tag)).not.toBeNull();
  });

  it.runIf(isRedis).each([
    ['before it was claimed', 0],
    ['after the claim of the erasure had expired', 10],
  ])('keeps a session in which a turn was stored %s, until it is repeated', async (_when, number) => {
    const session = await store.sessions.find(SESSION);
    if (session === null) throw new Error('there is no session');
    beforeWrite(number, async () => {
      await servers.endClaims();
      const claim = await claimSession(other, tag);
      const key = JSON.stringify(['chat', ['client', '192.0.2.7', `late-${ada.canary}`]]);
      const found = await other.idempotency.claim(key, 'body');
      if (found.outcome !== 'new') throw new Error('the key is known');
      const outcome = await other.commitTurn(claim, {
        turn: { record: aTurn({ user_id: session.user_id, person: ada.person }), ttl_ms: HOUR },
        trace: aTrace(session, { person: ada.person }),
        answer: { claim: found.claim, answer: { session_id: SESSION, response: 'late' }, ttl_ms: HOUR },
      });
      if (outcome !== 'committed') throw new Error(`the turn was not committed: ${outcome}`);
      await other.sessions.release(claim);
    });
    const first = await persons.erase(asPerson);
    expect(first.sessions.map(({ session: { session_id } }) => session_id)).toEqual([`s-${ada.canary}`]);
    const shown = await persons.show(asPerson);
    expect(shown.sessions.map(({ session: { session_id } }) => session_id)).toEqual([SESSION]);
    await persons.erase(asPerson);
    expect(countRecords(await persons.show(asPerson))).toBe(0);
    expect(await servers.keysOf('late')).toEqual([]);
    expect(await servers.keysOf(SESSION)).toEqual([]);
  });
});
