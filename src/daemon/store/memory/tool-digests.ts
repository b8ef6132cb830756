import { observedTool, trustedTool } from '../observed-tool.ts';
import type { ToolDigest, ToolDigestStore } from '../tool-digests.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function toolDigestSteps({ state, clock }: MemoryContext): Steps<ToolDigestStore> {
  const tools = state.tool_digests;
  const find = (name: string) => tools.get(name) ?? null;
  const put = (record: ToolDigest) => {
    tools.set(record.name, record);
    return record;
  };
  return {
    observe: (name, source, seen) => put(observedTool(find(name), { name, source, seen, now: clock.now() })),
    find,
    list: () => [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    trust(name, digest) {
      const record = trustedTool(find(name), digest, clock.now());
      if (record) put(record);
      return record !== null;
    },
  };
}
