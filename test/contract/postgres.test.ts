import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/daemon/errors.ts';
import { ownerOfPerson } from '../../src/daemon/identity/identity.ts';
import { openPostgresMemories } from '../../src/daemon/store/kernels/postgres/memories.ts';
import type { MemoryStore } from '../../src/daemon/store/memories/memories.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { ada } from './fixtures.ts';
import { describeMemories } from './memories-contract.ts';

describe.skipIf(withoutPostgres)('the store of memories on a Postgres server', () => {
  let server: Postgres;
  /** An empty database in each test of the contract. */
  let url: string;

  beforeAll(async () => {
    server = await Postgres.start({ tls: true });
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  describeMemories('postgres', async (max) => {
    let time = Date.UTC(2030, 0, 1);
    await server.sql('DROP SCHEMA public CASCADE; CREATE SCHEMA public', url);
    const instances: MemoryStore[] = [];
    const open = () => {
      const clock = { now: () => time };
      const memories = openPostgresMemories({ url, clock, log: { debug: () => {} }, max });
      instances.push(memories);
      return memories;
    };
    return {
      memories: open(),
      beside: async () => open(),
      advance(ms) {
        time += ms;
      },
      async dispose() {
        await Promise.all(instances.map((instance) => instance.close()));
      },
    };
  });

  const opened: MemoryStore[] = [];
  const open = (url: string) => {
    const memories = openPostgresMemories({
      url,
      clock: { now: () => Date.now() },
      log: { debug: () => {} },
    });
    opened.push(memories);
    return memories;
  };
  afterAll(() => Promise.all(opened.map((memories) => memories.close())));
  const owner = ownerOfPerson(ada);
  const tea = { text: 'I like tea', turn_id: 't', tainted: false };

  it('creates its schema once if many daemons start at once', async () => {
    const url = await server.createDatabase();
    const daemons = Array.from({ length: 6 }, () => open(url));
    await Promise.all(daemons.map((memories) => memories.check()));
    expect(await server.sql('SELECT count(*), max(version) FROM agentd_schema', url)).toBe('1|1');
    await daemons[0]?.add(owner, tea);
    expect(await daemons[5]?.list(owner)).toMatchObject([{ text: 'I like tea' }]);
  });

  it('changes nothing if a later version has written the schema', async () => {
    const url = await server.createDatabase();
    await open(url).check();
    await server.sql('UPDATE agentd_schema SET version = 99', url);
    const failure = await open(url)
      .check()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(String((failure as StoreUnavailable).cause)).toContain(
      'another version of agentd: its layout differs (schema 99 instead of schema',
    );
  });

  it('creates its schema when the database can be reached for the first time', async () => {
    const url = await server.createDatabase();
    const later = url.replace(/[^/]+$/, 'later');
    const memories = open(later);
    await expect(memories.list(owner)).rejects.toBeInstanceOf(StoreUnavailable);
    await server.sql('CREATE DATABASE later', url);
    expect(await memories.list(owner)).toEqual([]);
  });

  it('has a description without the password', async () => {
    expect(open('postgres://user:secret@db.example.com:6543/agentd?sslmode=verify-full').description).toBe(
      'postgres db.example.com:6543/agentd',
    );
    expect(open('postgres://user@/agentd?host=/run/postgresql').description).toBe(
      'postgres /run/postgresql/agentd',
    );
  });

  it('opens at most five connections, and closes them', async () => {
    const url = await server.createDatabase();
    const memories = openPostgresMemories({
      url,
      clock: { now: () => Date.now() },
      log: { debug: () => {} },
    });
    const count = async () =>
      Number(
        await server.sql(
          "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agentd' AND datname = current_database()",
          url,
        ),
      );
    await memories.check();
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => memories.add(owner, { ...tea, text: `tea ${n}` })),
    );
    // The last ones may still be opening.
    expect(await count()).toBeOneOf([2, 3, 4, 5]);
    await memories.close();
    // The server notices a moment later that a connection has been closed.
    await expect.poll(count).toBe(0);
  });

  it('reports within seconds that it is unreachable if nothing answers, and works again after an outage', async () => {
    const url = await server.createDatabase();
    const memories = open(url);
    await memories.add(owner, tea);
    await server.pause();
    await expect(memories.list(owner)).rejects.toBeInstanceOf(StoreUnavailable);
    await server.resume();
    expect(await memories.list(owner)).toHaveLength(1);

    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket));
    const port = await listenOnFreePort(silent);
    const began = performance.now();
    await expect(open(`postgres://a@127.0.0.1:${port}/agentd`).list(owner)).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    expect(performance.now() - began).toBeLessThan(10_000);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('uses TLS as the address specifies', async () => {
    const url = (await server.createDatabase()).replace('127.0.0.1', 'localhost');
    const root = `sslmode=verify-full&sslrootcert=${encodeURIComponent(server.certificate)}`;
    await open(`${url}?${root}`).check();
    expect(
      await server.sql(
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'agentd' AND datname = current_database()",
        url,
      ),
    ).not.toBe('0');
    const failure = await open(`${url}?sslmode=verify-full`)
      .check()
      .catch((error: unknown) => error);
    expect(String((failure as StoreUnavailable).cause)).toMatch(/certificate/);
    const otherName = url.replace('localhost', '127.0.0.1');
    await expect(open(`${otherName}?${root}`).check()).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
