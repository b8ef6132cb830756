import { pino } from 'pino';
import { afterAll, beforeAll, describe } from 'vitest';
import { openPostgresStore } from '../../src/daemon/store/kernels/postgres/store.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(withoutPostgres)('on a real server', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await Postgres.start();
  });
  afterAll(() => server.stop());

  describeStore('postgres', async (wanted) => {
    const url = await server.createDatabase();
    const log = pino({ level: 'silent' });
    return storeUnderTest((now) => openPostgresStore({ ...wanted, url, now, log }));
  });
});
