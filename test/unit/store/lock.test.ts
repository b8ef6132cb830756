import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoreLocked } from '../../../src/daemon/store/failures.ts';
import { nextLine, startChild } from './child.ts';
import { openAt, stateDirectory } from './state-directory.ts';

it('the lock refuses a second daemon in the same process until the first has closed the store', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const first = openAt(path);
  expect(() => openAt(path)).toThrow(StoreLocked);
  await first.close();
  await openAt(path).check();
});

it('the lock refuses a second daemon, admits administrators, and is free after the first daemon was killed', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const holder = startChild('hold-store.ts', [path]);
  expect(await nextLine(holder)).toBe('held');

  expect(() => openAt(path)).toThrow(StoreLocked);
  expect(() => openAt(path)).toThrow(`Another daemon is using the store at ${path}.`);
  await openAt(path, 'administrator').check();

  await holder.kill();
  await openAt(path).check();
});
