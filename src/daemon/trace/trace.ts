import type { Clock } from '../clock.ts';
import type { TraceLine } from './trace-record.ts';

/** Collects the lines of one trace, bounded, so that a run that loops cannot fill the store. */
export class Trace {
  static readonly MAX_LINES = 200;
  readonly lines: TraceLine[];
  readonly #clock: Clock;
  #dropped = 0;

  /** @param begun what was noted of the message before. */
  constructor(clock: Clock, begun: readonly TraceLine[] = []) {
    this.#clock = clock;
    this.lines = [...begun];
  }

  note(line: Omit<TraceLine, 'at'>): void {
    if (this.lines.length < Trace.MAX_LINES) this.lines.push({ at: this.#clock.now(), ...line });
    else this.#dropped++;
  }

  /** The lines for the store. */
  finished(): TraceLine[] {
    if (this.#dropped === 0) return this.lines;
    const at = this.#clock.now();
    return [
      ...this.lines,
      { at, step: 'trace', verdict: 'ok', reason: 'truncated', detail: { dropped: this.#dropped } },
    ];
  }
}
