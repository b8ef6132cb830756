import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { SqliteLeases } from '../../../src/daemon/store/sqlite/leases.ts';

const never = () => new AbortController().signal;

it('takes no memory for keys that nobody holds', async () => {
  const leases = new SqliteLeases();
  const impatient = new AbortController();
  const held = await Promise.all(Array.from({ length: 50 }, (_, n) => leases.acquire(`s${n}`, never())));
  const gaveUp = leases.acquire('s0', impatient.signal);
  const waits = leases.acquire('s1', never());
  expect(leases.size).toBe(50);
  impatient.abort();
  await expect(gaveUp).rejects.toThrow('aborted');
  await Promise.all(held.map((lease) => lease.release()));
  expect(leases.size).toBe(1);
  await (await waits).release();
  expect(leases.size).toBe(0);
});

it('refuses those that wait when it closes, and tells the holder that the lease is lost', async () => {
  const leases = new SqliteLeases();
  const held = await leases.acquire('s', never());
  const waits = leases.acquire('s', never());
  leases.close();
  await expect(waits).rejects.toBeInstanceOf(StoreUnavailable);
  expect(held.lost.aborted).toBe(true);
  await held.release();
  await expect(leases.acquire('s', never())).rejects.toBeInstanceOf(StoreUnavailable);
});
