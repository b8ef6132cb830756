import { AgentdError } from '../errors.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/** The result of a step that ends the message early: none of the later steps runs. */
export class Ended<Result> {
  readonly result: Result;

  constructor(result: Result) {
    this.result = result;
  }
}

/**
 * One step of the message path. `Needs` are the results of earlier steps that it needs, `Adds` is what it adds to the
 * turn, and `Result` is how it can end the message early. A step throws to end the message with a failure. A step that
 * never waits is not async, so that the next step follows at once.
 */
export interface Step<Needs, Adds extends object, Result = never> {
  name: string;
  run: (
    turn: Needs,
    services: Services,
    line: StepLine,
  ) => Adds | Ended<Result> | Promise<Adds | Ended<Result>>;
}

/**
 * A list of steps whose order the compiler checks: a list does not compile if a step needs the result of a later step.
 */
export class Sequence<First extends Arrived, Now extends First = First, Result = never> {
  readonly #steps: readonly Step<never, object, unknown>[];

  private constructor(steps: readonly Step<never, object, unknown>[]) {
    this.#steps = steps;
  }

  static start<First extends Arrived>(): Sequence<First> {
    return new Sequence<First>([]);
  }

  step<Adds extends object, Early>(
    step: Step<Now, Adds, Early>,
  ): Sequence<First, Now & Adds, Result | Early> {
    return new Sequence([...this.#steps, step as unknown as Step<never, object, unknown>]);
  }

  /**
   * Runs the steps on the turn, in order. The results of a step are assigned to the turn, and remain there even if a
   * later step throws.
   * @returns the turn with the results of all steps, or the result of the step that ended it early.
   */
  async run(turn: First, services: Services): Promise<Now | Ended<Result>> {
    for (const step of this.#steps) {
      const line: StepLine = { verdict: 'ok' };
      turn.trace.enter(step.name);
      try {
        const running = step.run(turn as never, services, line);
        const added = running instanceof Promise ? await running : running;
        turn.trace.leave(line);
        if (added instanceof Ended) return added as Ended<Result>;
        Object.assign(turn, added);
      } catch (error) {
        const refused = error instanceof AgentdError && error.status < 500;
        line.verdict = refused ? 'refused' : 'failed';
        line.reason ??= error instanceof AgentdError ? error.code : 'internal_error';
        turn.trace.leave(line);
        throw error;
      }
    }
    return turn as Now;
  }
}
