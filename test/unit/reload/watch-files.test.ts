import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { watchFiles } from '../../../src/daemon/reload/watch-files.ts';
import type { AlarmClock } from '../../../src/daemon/time/clock.ts';
import { until } from '../../support/until.ts';

let directory: string;
let changes: number;
let paths: string[] | null;
/** Runs one look, and resolves when it has ended. */
let look: () => Promise<void>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-watch-'));
  changes = 0;
  paths = [join(directory, 'agentd.yaml'), join(directory, 'prompt.md')];
  writeFileSync(join(directory, 'agentd.yaml'), 'a');
  const alarms: (() => void)[] = [];
  const clock: AlarmClock = {
    now: () => 0,
    after: (_ms, ring) => {
      alarms.push(ring);
      return () => {};
    },
  };
  const stop = watchFiles({ files: () => paths, changed: async () => void changes++, clock });
  look = async () => {
    alarms.shift()?.();
    await until(() => alarms.length > 0);
  };
  // A file may have changed after it was read, so the beginning counts as a change.
  await look();
  await look();
  expect(changes).toBe(1);
  changes = 0;
  return async () => {
    await stop();
    rmSync(directory, { recursive: true });
  };
});

it('a change is reported once, when no file has changed for a while', async () => {
  await look();
  expect(changes).toBe(0);
  writeFileSync(join(directory, 'agentd.yaml'), 'b');
  await look();
  writeFileSync(join(directory, 'prompt.md'), 'new');
  await look();
  expect(changes).toBe(0);
  await look();
  await look();
  expect(changes).toBe(1);
});

it('a file that is replaced or deleted has changed; what changes while nothing is watched counts when the watch begins', async () => {
  writeFileSync(join(directory, 'other'), 'a');
  renameSync(join(directory, 'other'), join(directory, 'agentd.yaml'));
  await look();
  await look();
  expect(changes).toBe(1);
  rmSync(join(directory, 'agentd.yaml'));
  await look();
  await look();
  expect(changes).toBe(2);
  paths = null;
  await look();
  writeFileSync(join(directory, 'agentd.yaml'), 'while nothing is watched');
  await look();
  expect(changes).toBe(2);
  paths = [join(directory, 'agentd.yaml')];
  await look();
  await look();
  await look();
  expect(changes).toBe(3);
});
