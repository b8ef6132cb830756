import { CLAIMS, claimTime, isValid } from '../claims/claim-state.ts';
import type { Kernel } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';
import { findSession, putSession } from './session-document.ts';

/** Summaries of the turns that do not fit into the history of a session, one for each principal of the session. */
export interface SummaryStore {
  /** The summary for this principal; null if there is none or the session has ended. */
  find(session_tag: string, principal: string): Promise<Summary | null>;
  /**
   * Claims the right to make a summary; atomic. Only one summary of a session is made at a time. The claim ends when
   * the summary is stored with `keep`, or after `ttl_ms`.
   * @returns the token of the claim; null while another summary is being made, or if the session has ended.
   */
  begin(session_tag: string, ttl_ms: number): Promise<string | null>;
  /**
   * Stores the summary for which `begin` returned the token, and replaces the previous summary of the same principal.
   * The summary is deleted with its session.
   * @returns false if the claim has expired or the session has ended; nothing is stored.
   */
  keep(session_tag: string, token: string, summary: Summary): Promise<boolean>;
}

export interface Summary {
  /** The person or user that the summary belongs to. Only runs for this person or user get the summary. */
  principal: string;
  text: string;
  /** Whether the text may be based on results of tools of another origin (`RunTaint`). */
  tainted: boolean;
  /** The id of the last turn that the summary covers. */
  through_turn: string;
  /** When that turn ended, ms since the epoch. */
  through_at: number;
}

export function summaryStore(kernel: Kernel): SummaryStore {
  const step = stepsOf(kernel);
  return {
    find: step((tx, session_tag, principal) => {
      const summaries = findSession(tx, session_tag)?.summaries;
      return summaries?.find((one) => one.principal === principal) ?? null;
    }),
    begin: step((tx, session_tag, ttl_ms) => {
      const stored = findSession(tx, session_tag);
      if (stored === null || isValid(stored.summarizing, tx)) return null;
      const owner = tx.newOwner();
      putSession(tx, { ...stored, summarizing: { owner, expires_at: claimTime(tx) + ttl_ms } });
      return owner;
    }, CLAIMS),
    keep: step((tx, session_tag, token, summary) => {
      const stored = findSession(tx, session_tag);
      if (stored?.summarizing?.owner !== token || !isValid(stored.summarizing, tx)) return false;
      const others = stored.summaries.filter(({ principal }) => principal !== summary.principal);
      putSession(tx, { ...stored, summaries: [...others, summary], summarizing: null });
      return true;
    }),
  };
}
