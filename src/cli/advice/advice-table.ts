/** The meaning of a reason in a trace, and what the operator can do about it. */
export interface Advice {
  /** What happened, in one sentence. */
  happened: string;
  /** What to do. Absent: nothing needs to be done. */
  todo?: string;
  /** Shown only if the reason caused a refusal. Otherwise another reason in the trace says the same. */
  only_if_refused?: true;
  /**
   * The advice if the request went to a source of tools with an address of its own instead of the business API.
   * `{source}` is the `name` of its entry.
   */
  of_source?: Pick<Advice, 'happened' | 'todo'>;
}

/** Advice by reason or error code, as they appear in traces and logs. */
export type AdviceTable = Readonly<Record<string, Advice>>;

/** Advice for a failure that only the log can explain. */
export const REQUEST_LOG = 'Read the log of this request: `agentd logs --request`.';
