import type { Services } from '../services.ts';
import type { Locked } from './turn.ts';

/**
 * Asks whether the run has lost its session: nothing that it does is stored any more. The session was erased with its
 * person, or another daemon has taken it over. The run is aborted too, but only when its claim is renewed next.
 */
export function lossOf(
  { claim }: Locked,
  { store: { sessions } }: Pick<Services, 'store'>,
): () => Promise<boolean> {
  return async () => !(await sessions.renew(claim));
}
