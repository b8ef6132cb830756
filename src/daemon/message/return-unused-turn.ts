import type { Services } from './services.ts';
import type { Arrived, NamedSession, Resolved } from './turn.ts';

/**
 * Prepares to subtract the turn that the loop guard has counted for this session. It is subtracted if the message fails
 * before it runs, or runs in another session.
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
