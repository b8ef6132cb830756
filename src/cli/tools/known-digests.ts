import { systemClock } from '../../daemon/clock.ts';
import { observedTool } from '../../daemon/store/observed-tool.ts';
import type { ToolDigest, ToolDigestStore } from '../../daemon/store/tool-digests.ts';

/**
 * The known definitions of the tools of MCP servers, for a command that only reads: it neither stores nor trusts a
 * definition that a server sends.
 */
export function knownDigests(known: readonly ToolDigest[]): ToolDigestStore {
  const find = (name: string) => known.find((tool) => tool.name === name) ?? null;
  return {
    observe: async (name, source, seen) =>
      observedTool(find(name), { name, source, seen, now: systemClock.now() }),
    find: async (name) => find(name),
    list: async () => [...known],
    trust: async () => false,
  };
}
