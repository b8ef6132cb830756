import { afterAll, beforeAll, describe } from 'vitest';
import type { MemoryStore } from '../../src/daemon/store/memories.ts';
import { openPostgresMemories } from '../../src/daemon/store/postgres/memories.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { describeMemories } from './memories-contract.ts';

describe.skipIf(withoutPostgres)('with a Postgres server', () => {
  let server: Postgres;

  beforeAll(async () => {
    server = await Postgres.start();
  });
  afterAll(() => server.stop());

  describeMemories('postgres', async (max) => {
    let time = Date.UTC(2030, 0, 1);
    const url = await server.createDatabase();
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
});
