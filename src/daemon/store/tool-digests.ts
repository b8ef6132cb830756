import type { Kernel, Kind } from './kernels/kernel.ts';
import { listDocuments } from './scans.ts';
import { stepsOf } from './steps-of.ts';

/**
 * How MCP servers define their tools (agentd-agent(7), "MCP"): the trusted definition, and the definition that the
 * server sends now if it is different. The first definition of a tool is trusted until an administrator trusts another
 * definition. Records are kept forever, because the configuration limits the number of tools.
 */
export interface ToolDigestStore {
  /**
   * Records the definition that a server sends now; atomic. The first definition of a tool is trusted. A later
   * definition that differs from the trusted one is stored as `changed`; otherwise `changed` is removed.
   * @param name the name by which the agent calls the tool.
   * @param source the `name` of the tool's entry.
   * @returns the new record.
   */
  observe(name: string, source: string, definition: ServerDefinition): Promise<ToolDigest>;
  /** The record of a tool; null if no server has sent a tool with this name yet. */
  find(name: string): Promise<ToolDigest | null>;
  /** The records of all tools, in the order of their names. */
  list(): Promise<ToolDigest[]>;
  /**
   * Trusts the changed definition; atomic. False if `digest` does not match the changed definition. Nothing is stored
   * then, and the caller must read the record again.
   */
  trust(name: string, digest: string): Promise<boolean>;
}

export interface ToolDigest {
  name: string;
  source: string;
  trusted: ServerDefinition;
  /** When the trusted definition was first seen, or was trusted by an administrator. */
  trusted_at: number;
  /** The definition that the server sends now; null if it is the trusted one. */
  changed: ServerDefinition | null;
  /** When the changed definition was first seen; null if there is none. */
  changed_at: number | null;
}

export interface ServerDefinition {
  /** SHA-256 of title, description and schema as sent by the server, in hex. */
  digest: string;
  title: string | null;
  /**
   * The description for administrators to compare: shortened, and anything that looks like a token is masked. `schema`
   * is shortened and masked in the same way.
   */
  description: string;
  /** The schema as JSON. */
  schema: string;
}

const TOOL: Kind<ToolDigest> = { name: 'tool', expires: () => null };

export function toolDigestStore(kernel: Kernel): ToolDigestStore {
  const step = stepsOf(kernel);
  return {
    observe: step((tx, name, source, seen) => {
      const record = observedTool(tx.get(TOOL, name), { name, source, seen, now: tx.now });
      tx.put(TOOL, name, record);
      return record;
    }),
    find: step((tx, name) => tx.get(TOOL, name)),
    list: async () => (await listDocuments(kernel, TOOL)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    trust: step((tx, name, digest) => {
      const record = trustedTool(tx.get(TOOL, name), digest, tx.now);
      if (record) tx.put(TOOL, name, record);
      return record !== null;
    }),
  };
}

/** The record of a tool after its server has sent this definition (`ToolDigestStore.observe`). */
export function observedTool(
  known: ToolDigest | null,
  { name, source, seen, now }: { name: string; source: string; seen: ServerDefinition; now: number },
): ToolDigest {
  const { trusted, trusted_at, changed, changed_at } = known ?? {
    trusted: seen,
    trusted_at: now,
    changed: null,
    changed_at: null,
  };
  const record = { name, source, trusted, trusted_at };
  if (seen.digest === trusted.digest) return { ...record, changed: null, changed_at: null };
  return { ...record, changed: seen, changed_at: seen.digest === changed?.digest ? changed_at : now };
}

/**
 * The record of a tool after an administrator has trusted its changed definition. Null if the digest does not match the
 * changed definition.
 */
function trustedTool(known: ToolDigest | null, digest: string, now: number): ToolDigest | null {
  if (!known?.changed || known.changed.digest !== digest) return null;
  return { ...known, trusted: known.changed, trusted_at: now, changed: null, changed_at: null };
}
