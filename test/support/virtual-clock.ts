import type { AlarmClock } from '../../src/daemon/time/clock.ts';

interface Alarm {
  at: number;
  ring: () => void;
}

/** A clock that moves only when a test moves it. */
export class VirtualClock implements AlarmClock {
  readonly #alarms = new Set<Alarm>();
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    const alarm = { at: this.#now + ms, ring };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Rings each due alarm once. A repeating alarm also rings only once, however many intervals were skipped. */
  moveTo(time: number): void {
    if (time < this.#now) throw new Error('this clock cannot go back');
    this.#now = time;
    const due = [...this.#alarms].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
    for (const alarm of due) this.#alarms.delete(alarm);
    for (const { ring } of due) ring();
  }
}
