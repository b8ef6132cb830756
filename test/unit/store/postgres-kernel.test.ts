import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { StoreOfAnotherLayout } from '../../../src/daemon/store/failures.ts';
import type { Tx } from '../../../src/daemon/store/kernels/kernel.ts';
import { Database } from '../../../src/daemon/store/kernels/postgres/database.ts';
import { PostgresKernel } from '../../../src/daemon/store/kernels/postgres/kernel.ts';
import { Notifications } from '../../../src/daemon/store/kernels/postgres/notifications.ts';
import { openPostgresStore } from '../../../src/daemon/store/kernels/postgres/store.ts';
import {
  COUNTER,
  HOUR,
  increment,
  type KernelServer,
  RING,
  sharedKernelContract,
  tellUntilHeard,
} from '../../contract/shared-kernel-contract.ts';
import { Postgres, withoutPostgres } from '../../support/postgres.ts';

const log = { debug() {} };
const START = Date.UTC(2030, 0, 1);

describe.skipIf(withoutPostgres)('the kernel on Postgres', () => {
  let server: Postgres;
  let url: string;
  let kernels: PostgresKernel[] = [];
  const kernelAt = (at: string) => {
    const parts = {
      database: new Database(at, log, { max: 10, query_ms: 10_000 }),
      notifications: new Notifications(at, log),
    };
    const kernel = new PostgresKernel({ ...parts, now: () => shared.time });
    kernels.push(kernel);
    return kernel;
  };
  const some = (count: number) => Array.from({ length: count }, () => kernelAt(url));
  const shared: KernelServer = {
    time: START,
    kernels: async (count) => some(count),
    loseListeners: () =>
      server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'", url),
  };

  beforeAll(async () => {
    server = await Postgres.start();
    url = await server.createSchema(await server.createDatabase());
    await (await openPostgresStore({ url, log })).close();
  });
  beforeEach(() => server.empty(url));
  afterEach(async () => {
    await Promise.all(kernels.map((kernel) => kernel.close()));
    kernels = [];
    shared.time = START;
  });
  afterAll(() => server.stop());

  sharedKernelContract(shared);

  it('is not opened on the tables of a later version', async () => {
    const later = await server.createDatabase();
    await (await openPostgresStore({ url: later, log })).close();
    await server.sql('UPDATE agentd_store_schema SET version = 99', later);
    await expect(openPostgresStore({ url: later, log })).rejects.toThrow(StoreOfAnotherLayout);
  });

  it('stores documents while expired ones are swept', async () => {
    const [one, two] = some(2) as [PostgresKernel, PostgresKernel];
    const key = (n: number) => `short ${n % 20}`;
    for (let round = 0; round < 5; round++) {
      await one.step((tx) => {
        for (let n = 0; n < 20; n++) tx.put(COUNTER, key(n), { n, expires_at: shared.time + 10 });
      });
      shared.time += 20;
      const puts = Array.from({ length: 20 }, (_, n) => one.step((tx) => tx.put(COUNTER, key(n), { n })));
      await Promise.all([...puts, two.sweep([], 0), one.sweep([], 0)]);
      const left = await one.step((tx) => Array.from({ length: 20 }, (_, n) => tx.get(COUNTER, key(n))));
      expect(left.every((doc) => doc !== null)).toBe(true);
    }
  });

  it('sweeps a document that has expired, and the records that a ring does not keep', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    const make = () =>
      kernel.step((tx) => {
        tx.put(COUNTER, 'x', { n: 1, group: 'g', expires_at: shared.time + 10 });
        tx.append(COUNTER, 'x', [1, 2]);
      });
    await make();
    shared.time += 10;
    expect(await kernel.sweep([], 1)).toBe(0);
    shared.time += 1;
    expect(await kernel.sweep([], 1)).toBe(1);
    expect(await kernel.sweep([], 1)).toBe(0);
    const left = (tx: Tx) => [tx.get(COUNTER, 'x'), tx.items(COUNTER, 'x'), tx.count(COUNTER, 'g')];
    expect(await kernel.step(left)).toEqual([null, [], 0]);
    await make();
    expect(await kernel.step((tx) => tx.items(COUNTER, 'x', 1))).toEqual([2]);
    for (let n = 0; n < 8; n++) await kernel.step((tx) => tx.log(RING, { id: `r${n}` }));
    expect(await kernel.sweep([RING], 1)).toBe(3);
    shared.time += HOUR;
    expect(await kernel.sweep([RING], 1)).toBe(6);
  });

  it('reports a commit whose connection breaks as StoreUnavailable, and works again', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    await kernel.step(increment('x'));
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE agentd_documents IN EXCLUSIVE MODE');
    try {
      const commit = kernel.step(increment('x')).catch((error: unknown) => error);
      // Each time on a new connection: within a transaction, Postgres shows the activity of its first look again.
      const waiting = () =>
        server.sql(
          "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%agentd_commit%'",
          url,
        );
      await expect.poll(waiting).toMatch(/^\d+$/);
      await server.sql(`SELECT pg_terminate_backend(${await waiting()})`, url);
      expect(await commit).toBeInstanceOf(StoreUnavailable);
      expect(kernel.failure).not.toBeNull();
    } finally {
      await blocker.end();
    }
    expect(await kernel.step(increment('x'))).toBe(2);
    expect(kernel.failure).toBeNull();
  });

  it('puts lazy steps on disk with the next step that is not lazy', async () => {
    const [kernel] = some(1) as [PostgresKernel];
    await kernel.step(increment('lazy'), { lazy: true });
    await kernel.step(increment('lazy'));
    expect(await kernel.step((tx) => tx.items(COUNTER, 'lazy'))).toEqual([1, 2]);
  });

  describe('notifications', () => {
    it('do not arrive in another schema, and what others send does no harm', async () => {
      const other = await server.createSchema(url.replace(/\?.*/, ''));
      await (await openPostgresStore({ url: other, log })).close();
      const [one, two] = some(2) as [PostgresKernel, PostgresKernel];
      const stranger = kernelAt(other);
      const heard: unknown[] = [];
      const strange: unknown[] = [];
      two.watch('room', (what) => heard.push(what));
      stranger.watch('room', (what) => strange.push(what));
      await tellUntilHeard(one, heard, 'ours');
      await tellUntilHeard(stranger, strange, 'theirs');
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const payload of ['', 'no JSON', 'null', '{}', '["x"]', '["x",{}]', '["x","error"]'])
        await client.query('SELECT pg_notify(agentd_channel(), $1)', [payload]);
      await client.end();
      await tellUntilHeard(one, heard, 'later');
      expect(new Set(heard)).toEqual(new Set(['ours', 'later']));
      expect(new Set(strange)).toEqual(new Set(['theirs']));
    });

    it('do not keep a kernel from closing while the server does not answer', async () => {
      const [kernel] = some(1) as [PostgresKernel];
      kernel.watch('room', () => undefined);
      await server.pause();
      try {
        await kernel.close();
      } finally {
        await server.resume();
      }
    });
  });

  it('checks what it has read even if the server’s default is another isolation level', async () => {
    await server.sql('ALTER ROLE postgres SET default_transaction_isolation = serializable', url);
    try {
      const found = await Promise.all(
        some(3).flatMap((kernel) => Array.from({ length: 20 }, () => kernel.step(increment('iso')))),
      );
      expect(new Set(found).size).toBe(60);
    } finally {
      await server.sql('ALTER ROLE postgres RESET default_transaction_isolation', url);
    }
  });
});
