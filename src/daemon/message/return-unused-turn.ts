import type { Services } from '../services.ts';
import type { Arrived, NamedSession, Resolved } from './turn.ts';

/**
 * The loop guard has counted a turn for this session. It is taken back if the message fails before it runs, or runs in
 * another session.
 */
export function returnUnusedTurn(turn: Arrived & NamedSession, { store }: Pick<Services, 'store'>): void {
  const { session_tag } = turn;
  turn.defer(async (failed) => {
    const { principal, session_tag: ran_in } = turn as NamedSession & Partial<Resolved>;
    const ran_elsewhere = principal !== undefined && ran_in !== session_tag;
    if (ran_elsewhere || (failed && !principal)) await store.guard.giveBackTurn(session_tag);
  });
}
