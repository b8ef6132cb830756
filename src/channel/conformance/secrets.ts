import { inspect } from 'node:util';
import type { ChannelPlugin, ChannelSettings } from '../index.ts';

/** Shorter ones also stand in texts that tell nothing of them, characters. */
const LENGTH_MIN = 8;
/** A piece of a secret that is as long is as good as the whole, characters. */
const PIECE_MIN = 16;

/** The secrets of a channel's settings, and what of them must not be told either. */
export function secretsOf({ settings: records }: ChannelPlugin, settings: ChannelSettings): string[] {
  return records.flatMap(({ name, secret }) => {
    const value = secret ? settings[name] : undefined;
    if (value === undefined) return [];
    const text = typeof value === 'object' && 'reveal' in value ? value.reveal() : String(value);
    const pieces = text.split(/[^\w-]+/).filter((piece) => piece.length >= PIECE_MIN);
    return [text.trim(), ...pieces].filter((part) => part.length >= LENGTH_MIN);
  });
}

/** Whether anything of a secret can be read in something, however deep: in causes of errors, in stacks. */
export function tells(something: unknown, secrets: readonly string[]): boolean {
  const text =
    typeof something === 'string'
      ? something
      : inspect(something, { depth: 10, maxStringLength: null, maxArrayLength: null });
  return secrets.some((secret) => text.includes(secret));
}
