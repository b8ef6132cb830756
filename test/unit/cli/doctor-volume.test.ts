import * as fs from 'node:fs';
import { beforeAll, expect, it, vi } from 'vitest';
import { checkStateDirectory } from '../../../src/cli/doctor/check-all.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MIB = 1024 * 1024;

/** The volume that both functions of Node.js report: its size and its free space, in MiB. */
const { volume } = vi.hoisted(() => ({ volume: { size: 0, free: 0 } }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  return { ...real, statfsSync: () => ({ bsize: 1024 * 1024, blocks: volume.size, bavail: volume.free }) };
});

let directory: string;
beforeAll(async () => {
  directory = temporaryFolder('volume');
});

it.each([
  { size: 100_000, free: 10_000, outcome: 'ok', left: '10000 MiB left' },
  { size: 100_000, free: 400, outcome: 'warning', left: '400 MiB left' },
  { size: 100_000, free: 63, outcome: 'failed', left: '63 MiB left' },
  // The daemon refuses messages below 5 % of a small volume.
  { size: 100, free: 50, outcome: 'warning', left: '50 MiB left' },
  { size: 100, free: 4, outcome: 'failed', left: '4 MiB left' },
  // Some network file systems report no size. The daemon accepts messages there.
  { size: 0, free: 0, outcome: 'ok', left: 'does not report its free space' },
])(
  'the check of the state directory: $free of $size MiB free is $outcome, as for the daemon',
  async (one) => {
    Object.assign(volume, one);
    expect(fs.statfsSync('').bsize).toBe(MIB);
    expect(await checkStateDirectory(directory)).toMatchObject([
      { outcome: one.outcome, detail: expect.stringContaining(one.left) },
    ]);
  },
);
