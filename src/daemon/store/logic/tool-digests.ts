import type { Kernel, Kind } from '../kernels/kernel.ts';
import { observedTool, trustedTool } from '../observed-tool.ts';
import type { ToolDigest, ToolDigestStore } from '../tool-digests.ts';
import { listed } from './listed.ts';

const TOOL: Kind<ToolDigest> = { name: 'tool', expires: () => null };

export function toolDigestStore(kernel: Kernel): ToolDigestStore {
  return {
    observe: (name, source, seen) =>
      kernel.step((tx) => {
        const record = observedTool(tx.get(TOOL, name), { name, source, seen, now: tx.now });
        tx.put(TOOL, name, record);
        return record;
      }),
    find: (name) => kernel.step((tx) => tx.get(TOOL, name)),
    list: async () => (await listed(kernel, TOOL)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    trust: (name, digest) =>
      kernel.step((tx) => {
        const record = trustedTool(tx.get(TOOL, name), digest, tx.now);
        if (record) tx.put(TOOL, name, record);
        return record !== null;
      }),
  };
}
