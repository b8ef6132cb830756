import { setImmediate as iteration } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RunGate } from '../../../src/daemon/stream/run-gate.ts';

describe('the gate of runs', () => {
  let gate: RunGate;
  let begun: string[];
  beforeEach(() => {
    gate = new RunGate();
    begun = [];
  });

  const run = (name: string) => gate.pass().then(() => begun.push(name));

  it('lets nothing begin while more runs come, and then all of them, in order', async () => {
    const stopped = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => stopped.mockRestore());
    const runs: Promise<unknown>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      runs.push(run(name));
      await iteration();
      expect(begun).toEqual([]);
    }
    await Promise.all(runs);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await run('e');
    expect(begun.at(-1)).toBe('e');
  });

  it('opens after a while even if runs never stop coming', async () => {
    const first = run('first');
    while (begun.length === 0) {
      void run('later');
      await iteration();
    }
    await first;
    expect(begun[0]).toBe('first');
  });
});
