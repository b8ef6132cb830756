import type { History } from './histories.ts';
import { type Played, play } from './play.ts';
import { shrink } from './shrink.ts';
import { World } from './world.ts';

/** The number of histories in a batch, and how many of them are played at once. */
const BATCH = 1000;
const AT_ONCE = 64;
/** The number of histories that share a store. */
const STORE = 20_000;

export interface Finding {
  history: History;
  played: Played;
}

export interface Found {
  /** The history as it was first played. */
  original: Finding;
  shortest: Finding;
}

/** The histories that were played. */
interface Checked {
  /** Null if all of them obey the rules. */
  found: Found | null;
  /** Histories that say nothing, although each was played again: see `Played.void`. */
  unjudged: { index: number; why: string }[];
}

/**
 * Plays histories until one shows a problem.
 * @param progress is called with the number of played histories
 */
export async function checkHistories(
  histories: Iterable<History>,
  progress: (played: number) => void = () => {},
): Promise<Checked> {
  const source = histories[Symbol.iterator]();
  const unjudged: Checked['unjudged'] = [];
  let played = 0;
  for (let batch = take(source, BATCH); batch.length > 0; ) {
    const world = await World.open();
    const table = new Table(world, unjudged);
    try {
      do {
        const original = await table.play(batch);
        if (original !== null)
          return { found: { original, shortest: await table.shrink(original) }, unjudged };
        if (world.tokensInLog.length > 0) throw new Error(`a token was logged: ${world.tokensInLog[0]}`);
        played += batch.length;
        progress(played);
        batch = take(source, BATCH);
      } while (batch.length > 0 && played % STORE !== 0);
    } finally {
      await world.close();
    }
  }
  return { found: null, unjudged };
}

/** How often a history is played that says nothing. */
const TRIES = 3;

/** Plays histories at the same time in one world. */
class Table {
  readonly #world: World;
  readonly #unjudged: Checked['unjudged'];
  /** The number of the history that was started last. The names of its people contain this number. */
  #number = 0;

  constructor(world: World, unjudged: Checked['unjudged']) {
    this.#world = world;
    this.#unjudged = unjudged;
  }

  /**
   * Plays histories. After the first finding, no further history is started. @returns the finding with the lowest index
   */
  async play(batch: readonly History[], tries = TRIES): Promise<Finding | null> {
    const findings: Finding[] = [];
    const again: History[] = [];
    const barrier = new Barrier(batch.length, () => this.#passInterval(batch[0] as History));
    const slots = new Slots(AT_ONCE);
    const interval = async () => {
      slots.give();
      const passed = await barrier.reached();
      await slots.take();
      return passed;
    };
    await Promise.all(
      batch.map(async (history) => {
        await slots.take();
        try {
          if (findings.length > 0) return;
          const played = await play(this.#world, history, ++this.#number, interval);
          if (played.problems.length > 0) findings.push({ history, played });
          if (played.void !== null && tries > 1) again.push(history);
          else if (played.void !== null) this.#unjudged.push({ index: history.index, why: played.void });
        } finally {
          slots.give();
          barrier.leave();
        }
      }),
    );
    const [first] = findings.sort((a, b) => a.history.index - b.history.index);
    if (first) return first;
    for (const history of again) {
      const found = await this.play([history], tries - 1);
      if (found) return found;
    }
    return null;
  }

  shrink(finding: Finding): Promise<Finding> {
    return shrink(finding, async (history) => {
      const found = await this.play([history]);
      return found?.played ?? { problems: [], at: -1, meanings: new Map(), void: null };
    });
  }

  /** The choice depends only on the index of the history, because a single history must be repeatable. */
  async #passInterval({ index }: History): Promise<'restart' | 'hour'> {
    if (Math.floor(index / BATCH) % 2 === 0) {
      this.#world.passHour();
      return 'hour';
    }
    await this.#world.restart();
    return 'restart';
  }
}

/** Makes a history wait until all others have ended or are waiting, too. */
class Barrier {
  readonly #pass: () => Promise<'restart' | 'hour'>;
  readonly #waiting: ((passed: Promise<'restart' | 'hour'>) => void)[] = [];
  #running: number;

  constructor(count: number, pass: () => Promise<'restart' | 'hour'>) {
    this.#running = count;
    this.#pass = pass;
  }

  reached(): Promise<'restart' | 'hour'> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.leave();
    });
  }

  leave(): void {
    this.#running -= 1;
    if (this.#running > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting.splice(0);
    this.#running = waiting.length;
    const passed = this.#pass();
    for (const resolve of waiting) resolve(passed);
  }
}

/** Limits how many histories run at once. */
class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}

function take<T>(source: Iterator<T>, count: number): T[] {
  const taken: T[] = [];
  while (taken.length < count) {
    const next = source.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}
