import type { SeededRandom } from '../support/chance.ts';

/** A fault in one call of the store, a platform, the model or a tool. */
export interface Fault {
  /** The name of the call, for example `commitTurn` or `inbox.settle`. */
  readonly op: string;
  /** Which of the calls with that name has the fault, counted from 1 over both daemons. */
  readonly nth: number;
  /** Whether the fault occurs before or after the effect of the call. */
  readonly when: 'before' | 'after';
  /**
   * `error`: the call fails. If it fails after its effect, the caller does not know the outcome. `delay`: the call
   * takes a long time. `pause`: the whole daemon is suspended, perhaps for longer than a claim is valid. `crash`: the
   * daemon dies. `stop`: the daemon begins to stop.
   */
  readonly act: 'error' | 'delay' | 'pause' | 'crash' | 'stop';
  /** Length of a delay or a pause; after a crash or a stop, the time until the daemon starts again. */
  readonly ms: number;
}

/** The faults of one run, by the calls that they affect. */
export class Faults {
  readonly #faults: Fault[];
  readonly #counts = new Map<string, number>();
  #isCalm = false;

  constructor(faults: readonly Fault[]) {
    this.#faults = [...faults];
  }

  /** Stops all faults from now on. */
  calm(): void {
    this.#isCalm = true;
  }

  get isCalm(): boolean {
    return this.#isCalm;
  }

  /** Counts a call. @returns its fault; null if it has none */
  of(op: string): Fault | null {
    if (this.#isCalm) return null;
    const nth = (this.#counts.get(op) ?? 0) + 1;
    this.#counts.set(op, nth);
    const at = this.#faults.findIndex((fault) => fault.op === op && fault.nth === nth);
    return at < 0 ? null : (this.#faults.splice(at, 1)[0] ?? null);
  }
}

/** Calls that can have a fault, with the weight of each. */
const OPS = [
  ['commitTurn', 25],
  ['beginTurn', 5],
  ['sessions.release', 3],
  ['sessions.save', 4],
  ['sessions.find', 2],
  ['sessions.history', 2],
  ['sessions.renew', 3],
  ['idempotency.claim', 4],
  ['idempotency.look', 1],
  ['idempotency.renew', 1],
  ['idempotency.release', 3],
  ['idempotency.finish', 2],
  ['guard.check', 2],
  ['guard.giveBackTurn', 2],
  ['inbox.screen', 5],
  ['inbox.enqueue', 1],
  ['inbox.claim', 1],
  ['inbox.take', 4],
  ['inbox.settle', 8],
  ['inbox.renew', 3],
  ['inbox.reap', 2],
  ['inbox.nextDueAt', 1],
  ['inbox.notePartsSent', 2],
  ['outages.list', 1],
  ['links.find', 1],
  ['links.put', 2],
  ['streams.create', 4],
  ['streams.find', 2],
  ['streams.findByKey', 1],
  ['streams.claim', 4],
  ['streams.append', 6],
  ['streams.read', 2],
  ['streams.release', 3],
  ['streams.requestStop', 2],
  ['streams.renew', 2],
  ['streams.reap', 1],
  ['traces.keep', 1],
  ['traces.keepRefused', 1],
  ['tokens.validate', 2],
  ['agent', 5],
  ['tool', 2],
  ['api', 10],
  ['actions.start', 6],
  ['actions.finish', 6],
  ['actions.restart', 2],
  ['platform.send', 8],
] as const;

/**
 * Calls that happen often. Their fault is at one of the first 12 calls. For the others, it is at one of the first 4.
 */
const OFTEN = /^(?:agent|inbox\.nextDueAt|outages\.list|inbox\.take|sessions\.find|streams\.append)$/;

export function randomFault(random: SeededRandom, acts: readonly Fault['act'][]): Fault {
  const op = weighted(random, OPS);
  const act = op === 'tokens.validate' || op === 'tool' ? 'delay' : random.pick(acts);
  return {
    op,
    nth: 1 + random.below(OFTEN.test(op) ? 12 : 4),
    when: random.pick(['before', 'after']),
    act,
    ms: durationOf(act, random),
  };
}

export function durationOf(act: Fault['act'], random: SeededRandom): number {
  switch (act) {
    case 'error':
      return 0;
    case 'delay':
      return random.chance(0.5) ? 100 + random.below(2000) : 2000 + random.below(15_000);
    case 'pause':
      return random.chance(0.2) ? 1000 + random.below(14_000) : 15_000 + random.below(6000);
    case 'crash':
    case 'stop':
      return 500 + random.below(random.chance(0.7) ? 4000 : 20_000);
  }
}

export function weighted<T>(random: SeededRandom, choices: readonly (readonly [T, number])[]): T {
  let rest = random.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [choice, weight] of choices) {
    rest -= weight;
    if (rest < 0) return choice;
  }
  throw new Error('nothing to choose from');
}
