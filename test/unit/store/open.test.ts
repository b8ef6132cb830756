import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { StoreLocked, StoreMissing } from '../../../src/daemon/store/failures.ts';
import { isServed, openStore, restoreStore } from '../../../src/daemon/store/open.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { aStream } from '../../contract/fixtures.ts';
import { stateDirectory } from './state-directory.ts';

it('openStore opens the database in STATE_DIR, and reports its path', async () => {
  const directory = stateDirectory();
  const settings = { SESSION_BACKEND: 'sqlite', STATE_DIR: directory, TRACE_RETENTION_DAYS: 7 } as Settings;
  await expect(openStore(settings, { role: 'administrator', clock: systemClock })).rejects.toThrow(
    StoreMissing,
  );
  const store = await openStore(settings, { role: 'daemon', clock: systemClock });
  onTestFinished(() => store.close());
  expect(store.description).toBe(`sqlite ${join(directory, 'agentd.db')}`);
});

it('openStore drops the unfinished claims of an earlier daemon, and keeps the answers that the earlier daemon stored', async () => {
  const settings = {
    SESSION_BACKEND: 'sqlite',
    STATE_DIR: stateDirectory(),
    TRACE_RETENTION_DAYS: 7,
  } as Settings;
  const answer = { session_id: 's', response: 'hello' };
  const first = await openStore(settings, { role: 'daemon', clock: systemClock });
  await first.idempotency.claim('unfinished', 'body');
  const finished = await first.idempotency.claim('finished', 'body');
  if (finished.outcome === 'new') await first.idempotency.finish(finished.claim, answer, 60_000);
  await first.streams.create(aStream({ stream_id: 'running' }));
  await first.streams.claim('running', { owner: null, reader: null });
  await first.close();
  const second = await openStore(settings, { role: 'daemon', clock: systemClock });
  onTestFinished(() => second.close());
  expect(await second.idempotency.look('unfinished', 'another body')).toEqual({ outcome: 'new' });
  expect(await second.idempotency.claim('finished', 'body')).toEqual({ outcome: 'done', answer });
  expect(await second.streams.reap({ event: 'error', data: '{"code":"interrupted"}' })).toBe(1);
});

it('a symbolic link to a store is the same store: one daemon at a time, and its copies are next to the file', async () => {
  const real = stateDirectory();
  const linked = stateDirectory();
  const at = (directory: string) =>
    ({ SESSION_BACKEND: 'sqlite', STATE_DIR: directory, TRACE_RETENTION_DAYS: 7 }) as Settings;
  const daemon = { role: 'daemon', clock: systemClock } as const;
  const first = await openStore(at(real), daemon);
  symlinkSync(join(real, 'agentd.db'), join(linked, 'agentd.db'));
  await expect(openStore(at(linked), daemon)).rejects.toThrow(StoreLocked);
  expect(await isServed(at(linked))).toBe(true);
  await first.close();

  const second = await openStore(at(linked), daemon);
  const backup = join(linked, 'backup.db');
  await second.maintenance?.backup?.(backup);
  await second.close();
  const kept = join(real, 'agentd.db.before-restore');
  expect(await restoreStore(at(linked), backup)).toBe(kept);
  expect(existsSync(kept)).toBe(true);
});
