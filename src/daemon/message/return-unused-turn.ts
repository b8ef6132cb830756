import type { Services } from '../services.ts';
import type { Arrived, NamedSession, Resolved } from './turn.ts';

/**
 * The loop guard has counted a turn for this session. The turn is subtracted again if the message fails before it runs,
 * or runs in another session.
 */
export function returnUnusedTurn(
  turn: Arrived & NamedSession,
  counted_in: string,
  { store }: Pick<Services, 'store'>,
): void {
  turn.defer(async (failed) => {
    const { principal, session_tag: ran_in } = turn as NamedSession & Partial<Resolved>;
    const ran_elsewhere = principal !== undefined && ran_in !== counted_in;
    if (ran_elsewhere || (failed && !principal)) await store.guard.giveBackTurn(counted_in);
  });
}
