import { Secret } from './secret.ts';
import { SECRET_SHOWN } from './shown.ts';

/** Minimum length of a masked secret, in characters. A shorter secret could also occur in unrelated words. */
const SECRET_MIN = 6;

/**
 * Masks secrets in a text that agentd did not write.
 * @param values values of settings; each one that is a secret is masked
 */
export function maskSecrets(text: string, values: readonly unknown[]): string {
  return values
    .flatMap((value) => (value instanceof Secret ? [value.reveal().trim()] : []))
    .filter((secret) => secret.length >= SECRET_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, SECRET_SHOWN), text);
}
