import type { PersonKey } from '../identity/identity.ts';
import type { Session } from '../session/session.ts';
import type { RunMemory } from './long-term-memory.ts';
import type { OwnJournal } from './own-journal.ts';
import type { RunTaint } from './run-taint.ts';

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
