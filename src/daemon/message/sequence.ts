import { AgentdError } from '../errors.ts';
import type { Services } from '../services.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Arrived } from './turn.ts';

/** A step has answered the message itself; none of the later steps runs. */
export const ENDED: unique symbol = Symbol('ended');

/**
 * One step of the message path. `Needs` is what earlier steps must have found, `Adds` what it finds;
 * it throws to end the turn with a failure.
 */
export interface Step<Needs, Adds extends object> {
  name: string;
  run: (turn: Needs, services: Services, line: StepLine) => Promise<Adds | typeof ENDED>;
}

/** A list of steps whose order the compiler checks: a step whose needs are not met yet does not fit. */
export class Sequence<Now extends Arrived> {
  readonly #steps: readonly Step<never, object>[];

  private constructor(steps: readonly Step<never, object>[]) {
    this.#steps = steps;
  }

  static start<First extends Arrived = Arrived>(): Sequence<First> {
    return new Sequence<First>([]);
  }

  step<Adds extends object>(step: Step<Now, Adds>): Sequence<Now & Adds> {
    return new Sequence<Now & Adds>([...this.#steps, step as Step<never, object>]);
  }

  /** Runs the steps on the turn, in order; what they add is assigned to it, also when a later one throws. */
  async run(turn: Arrived, services: Services): Promise<void> {
    for (const step of this.#steps) {
      const line: StepLine = { verdict: 'ok' };
      const began = performance.now();
      try {
        const added = await step.run(turn as never, services, line);
        note(turn, step.name, line, began);
        if (added === ENDED) return;
        Object.assign(turn, added);
      } catch (error) {
        const refused = error instanceof AgentdError && error.status < 500;
        line.verdict = refused ? 'refused' : 'failed';
        line.reason ??= error instanceof AgentdError ? error.code : 'internal_error';
        note(turn, step.name, line, began);
        throw error;
      }
    }
  }
}

function note(turn: Arrived, step: string, line: StepLine, began: number): void {
  turn.trace.note({ step, ...line, took_ms: Math.round((performance.now() - began) * 10) / 10 });
}
