import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { watchFiles } from '../../../src/daemon/reload/watch-files.ts';
import type { AlarmClock } from '../../../src/daemon/time/clock.ts';

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
  const stop = await watchFiles({ files: () => paths, changed: async () => void changes++, clock });
  look = async () => {
    alarms.shift()?.();
    await vi.waitUntil(() => alarms.length > 0);
  };
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

it('a file that is replaced or deleted has changed; a file that was already there when the watch began has not', async () => {
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
  paths = [join(directory, 'agentd.yaml')];
  await look();
  await look();
  expect(changes).toBe(2);
});
