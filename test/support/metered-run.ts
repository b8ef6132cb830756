import { type MeterParts, RunMeter } from '../../src/daemon/agent/model-meter.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { Texts } from '../../src/daemon/texts/texts.ts';
import { systemClock } from '../../src/daemon/time/clock.ts';
import { Trace } from '../../src/daemon/trace/trace.ts';
import { collectLog } from './log-lines.ts';

/** The meter of a run, as the daemon creates it, with the trace of the run and a store for budgets. */
export function meteredRun({ max, ...parts }: Partial<MeterParts> & { max?: number } = {}) {
  const trace = new Trace(systemClock);
  const store = openMemoryStore(new MemoryState(), { clock: systemClock });
  const meter = new RunMeter({
    trace,
    clock: systemClock,
    log: collectLog().log,
    budget: max === undefined ? null : { store: store.budgets, key: 'k', max },
    deadline: Date.now() + 60_000,
    texts: new Texts().in(),
    isLost: async () => false,
    ...parts,
  });
  /** The trace lines of model calls, without times. */
  const lines = () =>
    trace.lines
      .filter(({ step }) => step === 'model')
      .map(({ verdict, reason, detail: { first_token_ms: _, ...detail } = {} }) => ({
        verdict,
        ...(reason === undefined ? {} : { reason }),
        ...detail,
      }));
  return { meter, trace, store, lines };
}
