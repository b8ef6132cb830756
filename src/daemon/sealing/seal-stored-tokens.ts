import { StoreUnavailable } from '../errors.ts';
import { SEALED, type Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import type { Store } from '../store/store.ts';
import { sealedRecord } from './sealed-record.ts';

/**
 * Seals the live tokens, and the texts of actions, that were stored before there was a key. Called at the start, before
 * messages are handled: a message that had already read the unsealed record would mistake the sealed token for the
 * token of another person.
 *
 * A store that cannot be written does not prevent the start; the next start tries again.
 */
export async function sealStoredTokens(
  store: Pick<Store, 'storedTokens' | 'replaceToken'>,
  seal: Seal,
  log: Pick<Log, 'info' | 'warn'>,
): Promise<void> {
  let count = 0;
  try {
    for await (const tokens of store.storedTokens(SEALED)) {
      const replaced = await Promise.all(
        tokens.map((one) => store.replaceToken(one, seal.close(one.token, sealedRecord(one)))),
      );
      count += replaced.filter(Boolean).length;
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn({ err: error }, 'stored tokens and actions could not all be sealed; the next start tries again');
  }
  if (count > 0) log.info({ count }, 'sealed the tokens and actions that were stored without a key');
}
