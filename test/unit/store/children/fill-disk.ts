/**
 * Writes until the disk is full, prints the failure, waits for a line on standard input, writes again, and prints the
 * result. Argument: the path of the database.
 */
import { once } from 'node:events';
import { StoreUnavailable } from '../../../../src/daemon/errors.ts';
import { openSqliteStore } from '../../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession } from '../../../contract/fixtures.ts';
import { saveSession } from '../../../contract/store-writes.ts';

const store = openSqliteStore(process.argv[2] ?? '', {
  role: 'daemon',
  clock: { now: () => Date.now() },
  traceRetentionMs: 1000,
});

const write = () => saveSession(store, aSession(Date.now(), { user_id: 'x'.repeat(4000) }));

async function writeUntilFull(): Promise<unknown> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      return error;
    }
  }
}

const failure = await writeUntilFull();
console.log(
  failure instanceof StoreUnavailable ? `${failure.code}: ${failure.message}` : `unexpected: ${failure}`,
);
await once(process.stdin, 'data');
console.log(await write());
await store.close();
process.exit(0);
