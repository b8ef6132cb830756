import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Sample = Record<string, unknown>;

/** A delivery as it is documented, without the line that says where. */
export function sample(name: string): Sample {
  const text = readFileSync(join(import.meta.dirname, `${name}.json`), 'utf8');
  const { _source, ...delivery } = JSON.parse(text) as Sample;
  return delivery;
}

/** All deliveries that there are. */
export function sampleNames(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length));
}
