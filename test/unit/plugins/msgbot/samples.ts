import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const FOLDER = resolve(import.meta.dirname, '../../../fixtures/msgbot');

/** Names of all sample updates. */
export const SAMPLES: readonly string[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

/** One update as the platform sends it. */
export function sample(name: string): Record<string, unknown> {
  const { _source, ...update } = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as Record<
    string,
    unknown
  >;
  return update;
}

/** The bot of the samples. */
export const BOT = { id: 5550100, username: 'agentd_bot' };
