import type { ToolDefinition, ToolDigest } from './tool-digests.ts';

/** The record of a tool after its server has sent this definition (`ToolDigestStore.observe`). */
export function observedTool(
  known: ToolDigest | null,
  { name, source, seen, now }: { name: string; source: string; seen: ToolDefinition; now: number },
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
export function trustedTool(known: ToolDigest | null, digest: string, now: number): ToolDigest | null {
  if (!known?.changed || known.changed.digest !== digest) return null;
  return { ...known, trusted: known.changed, trusted_at: now, changed: null, changed_at: null };
}
