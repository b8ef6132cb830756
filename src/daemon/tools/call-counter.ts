import { type Refusal, refusal } from './call-outcome.ts';
import { canonicalJson } from './schema/read-arguments.ts';

/** Maximum number of tool calls in one run. After that, the model is told to answer. */
export const MAX_CALLS = 20;
/** Maximum number of equal calls in one run. Further equal calls are not made. */
const MAX_EQUAL_CALLS = 2;

/** Counts the calls of one run: all calls, and equal calls. */
export class CallCounter {
  #calls = 0;
  readonly #equal = new Map<string, number>();
  readonly #givenUp = new Set<string>();
  readonly #letThrough = new Set<string>();

  /** The arguments of this tool took too long to check. No more are checked in this run. */
  giveUp(tool: string): void {
    this.#givenUp.add(tool);
  }

  /** Counts the calls of a tool that go on without a confirmation, which depends on their arguments. */
  letThrough(tool: string): 'first' | 'further' {
    if (this.#letThrough.has(tool)) return 'further';
    this.#letThrough.add(tool);
    return 'first';
  }

  /** Counts a call, whose arguments have a limited size. @returns null if the call may be made. */
  count(tool: string, args: unknown): Refusal | null {
    if (++this.#calls > MAX_CALLS)
      return refusal('too_many_calls', 'No more tool calls in this run: answer with what you have.');
    if (this.#givenUp.has(tool))
      return refusal(
        'arguments_too_slow',
        'The tool cannot be used again in this run: its arguments took too long to check. Tell the person.',
      );
    const key = canonicalJson([tool, args ?? {}]);
    const made = this.#equal.get(key) ?? 0;
    if (made >= MAX_EQUAL_CALLS)
      return refusal(
        'repeated_call',
        `This call was made ${MAX_EQUAL_CALLS} times in this run, with the same arguments. It is not made again: use the results that you have.`,
      );
    this.#equal.set(key, made + 1);
    return null;
  }
}
