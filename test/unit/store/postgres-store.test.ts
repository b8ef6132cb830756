import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import { Database } from '../../../src/daemon/store/kernels/postgres/database.ts';
import { PostgresKernel } from '../../../src/daemon/store/kernels/postgres/kernel.ts';
import { openPostgresStore } from '../../../src/daemon/store/kernels/postgres/store.ts';
import { FilesNotRewritten } from '../../../src/daemon/store/persons/persons.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { anAction, anInboxMessage, aSession } from '../../contract/fixtures.ts';
import { claimSession, saveSession } from '../../contract/store-writes.ts';
import { effort } from '../../support/effort.ts';
import { aResident, fillAsPerson, fillAsUser, PLATFORM } from '../../support/person-world.ts';
import { Postgres, withoutPostgres } from '../../support/postgres.ts';

const log = { debug() {} };

describe.skipIf(withoutPostgres)('the store on Postgres', () => {
  let server: Postgres;
  let url: string;
  let time = Date.UTC(2030, 0, 1);
  let stores: Store[] = [];
  const open = async () => {
    const store = await openPostgresStore({ url, log, now: () => time });
    stores.push(store);
    return store;
  };

  beforeAll(async () => {
    server = await Postgres.start({ durable: true, options: ['wal_writer_delay=10s', 'autovacuum=off'] });
    url = await server.createSchema(await server.createDatabase());
    await (await open()).close();
  });
  beforeEach(() => server.empty(url));
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(stores.map((store) => store.close()));
    stores = [];
  });
  afterAll(() => server.stop());

  describe('durability', () => {
    /** How much of the log of the server is not on disk, bytes. */
    const unflushed = async () =>
      Number(await server.sql('SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn()', url));

    it.each([['as it is'], ['off by default']])(
      'a step is on disk when it resolves, unless it is lazy, with synchronous_commit %s',
      async (how) => {
        const isOff = how.startsWith('off');
        if (isOff) await server.sql('ALTER ROLE postgres SET synchronous_commit = off', url);
        try {
          const kernel = new PostgresKernel({
            database: new Database(url, log, { max: 5, query_ms: 2000 }),
            notifications: { close: async () => undefined } as never,
          });
          const KIND = { name: 'x', expires: () => null };
          // Something in the log that waits for the disk: only a lazy step leaves it there.
          await kernel.step((tx) => tx.put(KIND, 'k', { n: 1 }), { lazy: true });
          expect(await unflushed()).toBeGreaterThan(0);
          await kernel.step((tx) => tx.put(KIND, 'k', { n: 2 }));
          expect(await unflushed()).toBe(0);
          await kernel.close();
        } finally {
          await server.sql('ALTER ROLE postgres RESET synchronous_commit', url);
        }
      },
    );
  });

  it('lets the next owner of a session find each action that the last one has started', async () => {
    const [old, next] = [await open(), await open()];
    const outcomes: string[] = [];
    for (let round = 0; round < 40; round++) {
      const tag = `s${round}`;
      await saveSession(old, aSession(time, { session_id: tag }));
      const session = await claimSession(old, tag);
      time += CLAIM_MS + 1;
      const action = anAction({ session_tag: tag, session_id: tag, turn_key: `turn ${round}` });
      const [started, begun] = await Promise.all([
        old.actions.start({ session, key: null }, action),
        next.beginTurn(tag, tag, action.turn_key),
      ]);
      expect(begun).not.toBeNull();
      outcomes.push(started.outcome);
      expect(begun?.earlier.length, `the action was ${started.outcome}`).toBe(
        started.outcome === 'started' ? 1 : 0,
      );
    }
    expect(outcomes).toHaveLength(40);
  });

  it('counts 64 hits of one limit at once exactly, at two daemons, and refuses none of them', async () => {
    const both = [await open(), await open()] as const;
    const limit = { max: 20, window_ms: 60_000 };
    const states = await Promise.all(
      Array.from({ length: 64 }, (_, n) => both[n % 2 === 0 ? 0 : 1].limits.hit('hot', limit)),
    );
    expect(states.filter(({ allowed }) => allowed)).toHaveLength(20);
  });

  it('takes hundreds of webhooks at once, each once, and restarts them all when they have failed', async () => {
    const [one, two] = [await open(), await open()];
    const message = (n: number) =>
      anInboxMessage({ id: `i${n}`, message_id: `m${n}`, platform: 'chat', queue: `q${n % 25}` });
    const count = effort(100, 300);
    const numbers = Array.from({ length: count }, (_, n) => n);
    const kept = await Promise.all(numbers.map((n) => (n % 2 ? one : two).inbox.enqueue([message(n)])));
    expect(kept).toEqual(numbers.map(() => ['kept']));
    expect(await one.inbox.enqueue(numbers.map(message))).toEqual(numbers.map(() => 'repeated'));
    for (;;) {
      const claims = await one.inbox.claim('run', ['chat'], 50);
      if (claims.length === 0) break;
      await Promise.all(
        claims.map((claim) =>
          one.inbox.settle(claim, { kind: 'failed', failure: 'agent_failed', begun: false }),
        ),
      );
    }
    expect(await two.inbox.list({ states: ['failed'], limit: 1000 })).toHaveLength(count);
    const retried = await two.inbox.retryFailed({});
    expect(new Set(retried).size).toBe(count);
    expect(await one.inbox.list({ states: ['waiting'], limit: 1000 })).toHaveLength(count);
  });

  it('cannot be reached while somebody has changed its schema, and can again afterwards', async () => {
    const store = await open();
    const alter = async (statement: string) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(`ALTER ${statement}`).finally(() => client.end());
    };
    for (const [change, undo] of [
      ['TABLE agentd_documents RENAME TO others', 'TABLE others RENAME TO agentd_documents'],
      ['TABLE agentd_documents RENAME version TO v', 'TABLE agentd_documents RENAME v TO version'],
      ['FUNCTION agentd_read RENAME TO reads', 'FUNCTION reads RENAME TO agentd_read'],
    ] as const) {
      await alter(change);
      await expect(store.sessions.find('s')).rejects.toThrow(StoreUnavailable);
      await alter(undo);
      expect(await store.sessions.find('s')).toBeNull();
    }
  });

  it('cannot be written while its disk is full, whatever is read meanwhile', async () => {
    const store = await open();
    const run = async (statement: string) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(statement).finally(() => client.end());
    };
    await run(`CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON agentd_documents EXECUTE FUNCTION fill()`);
    await expect(saveSession(store, aSession(time))).rejects.toThrow(StoreUnavailable);
    expect(await store.sessions.find('s')).toBeNull();
    expect(store.condition()).toEqual({
      writable: false,
      detail: 'Postgres cannot be used: could not extend file: No space left on device.',
    });
    await expect(store.check()).rejects.toThrow(StoreUnavailable);
    await run('DROP FUNCTION fill CASCADE');
    await store.check();
    expect(store.condition()).toEqual({ writable: true, detail: null });
  });

  it('keeps what has expired for a minute, because a step that has read it before may still be stored', async () => {
    const store = await open();
    const session = aSession(time);
    await saveSession(store, session);
    time = session.expires_at + 59_999;
    expect(await store.maintenance?.sweep()).toBe(0);
    time += 60_000;
    expect(await store.maintenance?.sweep()).toBeGreaterThan(0);
  });

  it('leaves nothing of what had expired before an erasure and was not swept yet', async () => {
    const store = await open();
    const ada = aResident('Ada');
    await fillAsPerson(store, time, ada);
    await fillAsUser(store, time, ada);
    time += 10 * 24 * 60 * 60 * 1000;
    await store.persons?.erase({ person: ada.person, link_keys: [] });
    await store.persons?.erase({ platform: PLATFORM, user_id: ada.user_id });
    const tables = ['documents', 'places', 'items', 'records'];
    const rows = tables.map((table) => `SELECT t::text FROM s1.agentd_${table} t`).join(' UNION ALL ');
    expect(await server.sql(`SELECT * FROM (${rows}) r (t) WHERE t LIKE '%${ada.canary}%'`, url)).toBe('');
  });

  it('says what is left to do if the tables cannot be written again after an erasure', async () => {
    const store = await open();
    const ada = aResident('Ada');
    await fillAsUser(store, time, ada);
    const other = new Client({ connectionString: url });
    await other.connect();
    try {
      await other.query('BEGIN; SELECT count(*) FROM agentd_documents');
      const of = { platform: PLATFORM, user_id: ada.user_id };
      const failure = await store.persons?.erase(of).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(FilesNotRewritten);
      expect((failure as FilesNotRewritten).advice).toContain('VACUUM (FULL)');
    } finally {
      await other.end();
    }
  });
});
