export type CheckOutcome = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of a check: a line of `agentd doctor`. */
export interface Finding {
  check: string;
  outcome: CheckOutcome;
  /** What was found, or why the check was skipped. */
  detail: string;
  /** What to do, as a sentence, if something needs to be done. */
  advice?: string;
}

type Create = (detail: string, advice?: string) => Finding;

/** Creates the findings of one check. */
export function findingsOf(check: string): Record<CheckOutcome, Create> {
  const create =
    (outcome: CheckOutcome): Create =>
    (detail, advice) => ({ check, outcome, detail, ...(advice === undefined ? {} : { advice }) });
  return {
    ok: create('ok'),
    warning: create('warning'),
    failed: create('failed'),
    skipped: create('skipped'),
  };
}
