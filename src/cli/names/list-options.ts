import { parseSince, wholeNumber } from './typed-values.ts';

/** The option `--limit` of a command that lists these items: its record, and the reader of its value. */
export function limitOption(items: string, { max, usual }: { max: number; usual: number }) {
  return {
    record: { '--limit <n>': { sentence: `maximum number of ${items}, 1 to ${max}`, default: usual } },
    /** @throws CliError (2) if the value is out of bounds */
    read: ({ limit }: { limit: string | number }) => wholeNumber('--limit', limit, { min: 1, max }),
  };
}

/** The option `--since`. @param what the items that are left, as the beginning of its sentence */
export function sinceOption(what: string) {
  return { '--since <time>': `${what}: 30s, 10m, 2h, 7d, or an ISO 8601 time` };
}

/** The filter that `--since` means; empty if it is not given. */
export function sinceIn({ since }: { since?: string }, now = Date.now()): { since?: number } {
  return since === undefined ? {} : { since: parseSince(since, now) };
}
