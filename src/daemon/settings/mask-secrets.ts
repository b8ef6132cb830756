import { Secret } from '../secret.ts';
import { SECRET_SHOWN } from './shown.ts';

/** Minimum length of a masked secret, in characters. A shorter one is also found in unrelated words. */
const SECRET_MIN = 6;

/** Masks secrets in a text that somebody else wrote: the secrets among these values of settings. */
export function maskSecrets(text: string, values: readonly unknown[]): string {
  return values
    .flatMap((value) => (value instanceof Secret ? [value.reveal().trim()] : []))
    .filter((secret) => secret.length >= SECRET_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, SECRET_SHOWN), text);
}
