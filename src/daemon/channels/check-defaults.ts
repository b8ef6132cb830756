import { type Refusal, unfit } from '../../channel/fit.ts';
import type { ChannelPlugin } from '../../channel/index.ts';
import { readValue } from '../settings/value.ts';

const NATIVE: Readonly<Record<string, string>> = {
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  list: 'object',
};

/** Checks that the default of each setting is a value that an operator could also set. */
export function checkDefaults({ settings }: ChannelPlugin): Refusal[] {
  return settings.flatMap((record) => {
    const { name, kind, default: value } = record;
    if (value === undefined || (typeof value === (NATIVE[kind] ?? 'string') && readValue(record, value).ok))
      return [];
    return [unfit(`\`default\` of ${name}`, `a value of the kind ${kind}, within its bounds`, value)];
  });
}
