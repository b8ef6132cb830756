import { setImmediate } from 'node:timers/promises';
import type { AlarmClock } from '../../src/daemon/time/clock.ts';
import type { SeededRandom } from '../support/chance.ts';

/** An actor in a simulation: one daemon run, a client, the network. */
export class Actor {
  readonly name: string;
  /** The actor does nothing before this time. */
  pausedUntil = 0;
  /** True after `kill`: the actor does nothing more. */
  isDead = false;

  constructor(name: string) {
    this.name = name;
  }
}

/** A task that can run next. */
interface Task {
  readonly actor: Actor;
  /** The task does not run before this time. */
  readonly at: number;
  readonly run: () => void;
}

/**
 * Runs everything that is asynchronous in a simulation, one task at a time. It picks the next task at random from the
 * tasks that are due. If no task is due, the clock moves to the time of the next task. All promise jobs run between two
 * tasks, so the same random numbers produce the same run.
 */
export class Scheduler {
  readonly random: SeededRandom;
  readonly #tasks: Task[] = [];
  #now: number;
  #steps = 0;

  constructor(random: SeededRandom, now: number) {
    this.random = random;
    this.#now = now;
  }

  get now(): number {
    return this.#now;
  }

  /** Number of tasks that have run. */
  get steps(): number {
    return this.#steps;
  }

  /** @returns a function that cancels the task */
  add(actor: Actor, in_ms: number, run: () => void): () => void {
    if (actor.isDead) return () => undefined;
    const task = { actor, at: this.#now + Math.max(0, in_ms), run };
    this.#tasks.push(task);
    return () => this.#remove(task);
  }

  /** Resolves when the scheduler lets the actor continue. Never resolves if the actor dies first. */
  point(actor: Actor, in_ms = 0): Promise<void> {
    return new Promise((resolve) => {
      this.add(actor, in_ms, resolve);
    });
  }

  /** Removes all tasks of the actor. It gets no new tasks. */
  kill(actor: Actor): void {
    actor.isDead = true;
    for (const task of this.#tasks.filter((one) => one.actor === actor)) this.#remove(task);
  }

  /** @param ahead_ms how far the clock is ahead of the time of the run. */
  clockOf(actor: Actor, ahead_ms = 0): AlarmClock {
    return {
      now: () => this.#now + ahead_ms,
      after: (ms, ring) => this.add(actor, ms, ring),
    };
  }

  /** Runs tasks until the condition is true, no task is left, or the time is reached. */
  async run(isDone: () => boolean, until: number): Promise<void> {
    for (;;) {
      // Until no promise job and no `nextTick` callback is left.
      await setImmediate();
      if (isDone()) return;
      const next = this.#next(until);
      if (next === null) return;
      this.#steps++;
      next.run();
    }
  }

  #next(until: number): Task | null {
    let due = this.#due();
    if (due.length === 0) {
      const earliest = Math.min(...this.#tasks.map(startOf));
      if (earliest > until) {
        if (Number.isFinite(until)) this.#now = until;
        return null;
      }
      if (earliest === Number.POSITIVE_INFINITY) return null;
      this.#now = earliest;
      due = this.#due();
    }
    const next = due.length === 1 ? (due[0] as Task) : this.random.pick(due);
    this.#remove(next);
    return next;
  }

  #due(): Task[] {
    return this.#tasks.filter((task) => startOf(task) <= this.#now);
  }

  #remove(task: Task): void {
    const at = this.#tasks.indexOf(task);
    if (at >= 0) this.#tasks.splice(at, 1);
  }
}

function startOf({ actor, at }: Task): number {
  return Math.max(at, actor.pausedUntil);
}
