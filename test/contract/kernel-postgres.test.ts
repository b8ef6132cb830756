import { pino } from 'pino';
import { afterAll, beforeAll, describe } from 'vitest';
import { openPostgresStore } from '../../src/daemon/store/kernels/postgres/store.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

const log = pino({ level: 'silent' });

describe.skipIf(withoutPostgres)('on a real server', () => {
  let server: Postgres;
  /** A schema that each test finds empty. */
  let url: string;
  beforeAll(async () => {
    server = await Postgres.start();
    url = await server.createSchema(await server.createDatabase());
    await (await openPostgresStore({ url, log })).close();
  });
  afterAll(() => server.stop());

  describeStore('postgres', async (wanted) => {
    await server.empty(url);
    return storeUnderTest((now) => openPostgresStore({ ...wanted, url, now, log }));
  });
});
