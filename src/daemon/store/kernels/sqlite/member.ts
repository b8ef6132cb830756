import type { SqliteTx } from './transaction.ts';

/** A step, or a change of other tables, that waits for the commit. */
export interface Member {
  /** When it was requested, by `performance.now()`, because that clock cannot be set. */
  readonly since: number;
  /** Runs it. A step may run several times, a change of tables only within the transaction. */
  run(): void;
  /** The result of the last run; null if it has to run, or run again. */
  outcome: { value: unknown } | { error: unknown } | null;
  readonly isStep: boolean;
  /** Whether its result was given before the commit. */
  isAnswered: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  told: SqliteTx['told'];
}

/** A promise that the member settles. */
export function settledBy(member: Member): Promise<unknown> {
  return new Promise((resolve, reject) => {
    member.resolve = resolve;
    member.reject = reject;
  });
}

export function createMember(isStep: boolean, run: () => void): Member {
  const nobody = () => undefined;
  const since = performance.now();
  return { since, run, outcome: null, isStep, isAnswered: false, resolve: nobody, reject: nobody, told: [] };
}
