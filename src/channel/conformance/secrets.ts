import { inspect } from 'node:util';
import type { ChannelPlugin, ChannelSettings } from '../index.ts';

/** Minimum length of a secret that is searched for, characters. A shorter one may be part of an unrelated text. */
const LENGTH_MIN = 8;
/** Minimum length of a piece of a secret that is searched for, characters. */
const PIECE_MIN = 16;

/** The secrets among a channel's settings, and their long pieces. */
export function secretsOf({ settings: records }: ChannelPlugin, settings: ChannelSettings): string[] {
  return records.flatMap(({ name, secret }) => {
    const value = secret ? settings[name] : undefined;
    if (value === undefined) return [];
    const text = typeof value === 'object' && 'reveal' in value ? value.reveal() : String(value);
    const pieces = text.split(/[^\w-]+/).filter((piece) => piece.length >= PIECE_MIN);
    return [text.trim(), ...pieces].filter((part) => part.length >= LENGTH_MIN);
  });
}

/** Whether a value shows one of the secrets, at any depth, for example in the cause or the stack of an error. */
export function leaks(something: unknown, secrets: readonly string[]): boolean {
  const text =
    typeof something === 'string'
      ? something
      : inspect(something, { depth: 10, maxStringLength: null, maxArrayLength: null });
  return secrets.some((secret) => text.includes(secret));
}
