import type { RequestContext, RunTaint } from '../agent/context.ts';
import type { RunMemory } from '../agent/long-term-memory.ts';
import { ownJournal } from '../tools/journal/own-journal.ts';
import { lossOf } from './loss-of.ts';
import { memoryOwnerOf } from './memory-owner-of.ts';
import { ownActionsOf } from './own-actions-of.ts';
import type { Services } from './services.ts';
import type { Runnable } from './turn.ts';

/** The context of a run: what its tools may read about the message. */
export function requestContextOf(
  turn: Runnable,
  services: Services,
  signal: AbortSignal,
  taint: RunTaint,
): RequestContext {
  const { session, message, principal, trace, request_id, changes } = turn;
  const isUnsaved = changes.session !== undefined;
  const own = ownActionsOf(turn);
  return {
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: services.settings.APP_NAME,
    // A session that will be stored with this turn cannot be found in the store yet.
    session_service: isUnsaved ? { find: async () => session } : services.store.sessions,
    acts_for: principal.person,
    acts_for_nobody_because: principal.person === null ? principal.reason : null,
    own_journal: own === null ? null : ownJournal(own, services),
    memory: memoryOf(turn, services, signal, taint),
    taint,
    trace,
    request_id,
    signal,
  };
}

function memoryOf(
  turn: Runnable,
  services: Services,
  signal: AbortSignal,
  taint: RunTaint,
): RunMemory | null {
  const owner = memoryOwnerOf(turn);
  const { memory } = services;
  if (owner === null || memory === null) return null;
  const { turn_id, request_id, trace } = turn;
  return memory.ofRun({ owner, turn_id, request_id, trace, signal, taint, isLost: lossOf(turn, services) });
}
