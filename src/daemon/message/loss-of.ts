import type { Services } from './services.ts';
import type { Locked } from './turn.ts';

/**
 * Checks whether the run has lost its session, so that its results can no longer be stored: the session was erased with
 * its person, or another daemon has taken it over. The run is also aborted in these cases, but only when its claim is
 * renewed the next time.
 */
export function lossOf(
  { claim }: Locked,
  { store: { sessions } }: Pick<Services, 'store'>,
): () => Promise<boolean> {
  return async () => !(await sessions.renew(claim));
}
