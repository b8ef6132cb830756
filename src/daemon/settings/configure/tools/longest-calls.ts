import type { SourceEntry } from '../../../tools/source-entry.ts';

/** Warnings about entries whose calls may take longer than a run of the agent. @param run_seconds AGENT_TIMEOUT_SECONDS */
export function longestCalls(entries: readonly SourceEntry[], run_seconds: number | undefined): string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'mcp' && (entry.timeout_seconds ?? 0) > (run_seconds ?? Number.POSITIVE_INFINITY)
      ? [
          `${entry.place}: \`timeout_seconds\` is ${entry.timeout_seconds}, but AGENT_TIMEOUT_SECONDS ends a run after ${run_seconds}`,
        ]
      : [],
  );
}
