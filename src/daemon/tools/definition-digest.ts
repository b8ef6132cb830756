import { hash } from 'node:crypto';
import { canonicalJson } from './schema/read-arguments.ts';
import type { Tool } from './tool.ts';

/** A hash of what the model reads of a tool. */
export function digestDefinition({
  name,
  description,
  parameters,
}: Pick<Tool, 'name' | 'description' | 'parameters'>): string {
  return hashParts([name, description, canonicalJson(parameters)]);
}

const records = new WeakMap<Tool, string>();

/**
 * A hash of the whole record of an admitted tool: what the model reads, the policy of its calls, and where they go.
 * Secrets are not in it.
 */
export function digestRecord(tool: Tool): string {
  const known = records.get(tool);
  if (known !== undefined) return known;
  const { public: shown, bind, hide, idempotent, timeout_ms, digest: definition, source } = tool;
  const { name, title, description, parameters, effect, credentials, confirm, summary, confirm_label } = tool;
  const digest = hashParts([
    canonicalJson({
      name,
      title,
      description,
      parameters,
      effect,
      credentials,
      confirm,
      summary,
      confirm_label,
    }),
    canonicalJson({ public: shown, bind, hide, idempotent, timeout_ms, definition, source }),
  ]);
  records.set(tool, digest);
  return digest;
}

function hashParts(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex');
}
