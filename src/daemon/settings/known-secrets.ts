import { percentDecoded } from '../syntax/percent.ts';
import { Secret } from './secret.ts';

/** Minimum length of a part of a list that counts as a secret of its own: a shorter one may be a usual word. */
const PART_MIN = 16;

/**
 * The secrets among the values of settings, and the parts of them that may occur alone: each key of a list, and the
 * password of an address.
 */
export function knownSecrets(values: readonly unknown[]): Secret[] {
  const texts = values.flatMap((value) =>
    value instanceof Secret ? splitSecret(value.reveal().trim()) : [],
  );
  // A secret that contains another one is masked as a whole.
  return [...new Set(texts)].sort((a, b) => b.length - a.length).map((text) => new Secret(text));
}

function splitSecret(secret: string): string[] {
  const listed = secret.split(/[\n,]+/).map((part) => part.trim());
  const password = URL.parse(secret)?.password ?? '';
  return [
    secret,
    ...listed.filter((part) => part.length >= PART_MIN),
    password,
    percentDecoded(password),
  ].filter((part) => part !== '');
}
