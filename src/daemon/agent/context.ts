import { AsyncLocalStorage } from 'node:async_hooks';
import type { PersonKey } from '../identity/identity.ts';
import type { Session } from '../session/session.ts';
import type { Trace } from '../trace/trace.ts';
import type { RunMemory } from './long-term-memory.ts';
import type { OwnJournal } from './own-journal.ts';
import type { RunTaint } from './run-taint.ts';

/**
 * The per-request session context that tools read (agentd-api(7), "The context of a request"), isolated per concurrent
 * message.
 */
export interface RequestContext {
  session_id: string;
  user_id: string;
  app_name: string;
  /**
   * Handle to the session service. A tool reads the session again each time, so that it sees whether the session has
   * ended.
   */
  session_service: { find(session_id: string): Promise<Session | null> };
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
  trace: Trace;
  request_id: string;
  signal: AbortSignal;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work` with the context. Everything that `work` starts reads the same context. */
export function withRequestContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work);
}

/** The context of the message that is being processed here. Undefined if there is none. */
export function requestContext(): RequestContext | undefined {
  return storage.getStore();
}
