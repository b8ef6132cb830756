import { createHash } from 'node:crypto';
import { canonicalJson } from './schema/read-arguments.ts';
import type { Tool } from './tool.ts';

/** A hash of what the model reads of a tool. */
export function digestDefinition({
  name,
  description,
  parameters,
}: Pick<Tool, 'name' | 'description' | 'parameters'>): string {
  const text = JSON.stringify([name, description, canonicalJson(parameters)]);
  return createHash('sha256').update(text).digest('hex');
}
