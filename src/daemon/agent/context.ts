import type { NobodyReason, PersonKey } from '../identity/identity.ts';
import type { Session } from '../session/session.ts';
import type { OwnJournal } from './agent.ts';
import type { RunMemory } from './long-term-memory.ts';

/**
 * The context of one message, which its tools read (agentd-api(7), "The context of a request"): whom they act for, in
 * which session, and what is remembered. It is made once for each run, and handed down to each call.
 */
export interface RequestContext {
  request_id: string;
  session_id: string;
  user_id: string;
  app_name: string;
  /**
   * Reads the session. It is read for each call, because an operator may end the session during the run; the token in it
   * must not be used after that.
   */
  readSession(): Promise<Session | null>;
  /**
   * Why the sender's link no longer stands for `acts_for`: it may end, or become that of somebody else, during the run.
   * Null if it still does, and on a channel that does not look for links.
   */
  whyUnlinked(): Promise<NobodyReason | null>;
  /**
   * Who this message may act for, decided once by resolve-principal. A stored context of another person is not used, so
   * that one member's token is never used for another member's message.
   */
  acts_for: PersonKey | null;
  /** Why the message acts for nobody; for the trace. */
  acts_for_nobody_because: string | null;
  /** The writes made for the sender. Null if the sender is not known, or if other people would read the answer. */
  own_journal: OwnJournal | null;
  /** Null if nothing is remembered for this message. */
  memory: RunMemory | null;
  taint: RunTaint;
}

/**
 * Whether a run has read texts that may come from a tool of an origin other than that of API_BASE_URL: a result of such
 * a tool, or an earlier turn, a summary or a memory that may be based on one. Such a text could have dictated what the
 * run remembers, so later runs get those memories only if they search for them. The turn keeps the mark, so that the
 * runs that are given the turn have it, too.
 */
export class RunTaint {
  #isTainted = false;
  #whenMarked: (() => Promise<void>) | null = null;

  get isTainted(): boolean {
    return this.#isTainted;
  }

  /**
   * Must be called before such a text reaches the agent. Rejects if the memories that the run has already stored could
   * not be marked; the text must then not reach the agent.
   */
  async mark(): Promise<void> {
    this.#isTainted = true;
    await this.#whenMarked?.();
  }

  /** Sets the function that marks what the run has stored before `mark` was called. */
  whenMarked(markStored: () => Promise<void>): void {
    this.#whenMarked = markStored;
  }
}
