import { TurnJournal } from '../journal/turn-journal.ts';
import type { Services } from '../services.ts';
import type { Answering, Deduplicated, Locked, Resolved } from './turn.ts';
import { turnKey } from './turn-key.ts';

/** The journal of this run. It includes the writes of earlier runs of the message. */
export function journalOf(
  turn: Answering & Deduplicated & Locked & Resolved,
  { store, seal }: Pick<Services, 'store' | 'seal'>,
): TurnJournal {
  const { claim, begun, key, message, session_id, principal } = turn;
  const run = {
    turn_key: turnKey(turn),
    earlier: begun.earlier,
    claims: { session: claim, key },
    session_id,
    platform: message.platform,
    user_id: message.user_id,
    alias_id: message.alias_id ?? null,
    person: principal.person,
  };
  return new TurnJournal(run, { actions: store.actions, seal });
}
