import { createHash } from 'node:crypto';
import { maskTokens } from '../../settings/secret.ts';
import type { ToolDefinition } from '../../store/tool-digests.ts';
import { printable } from '../../texts/printable.ts';
import { canonicalJson } from '../canonical-json.ts';
import { nestsDeeper } from '../nests-deeper.ts';
import type { ListedTool } from './mcp-connection.ts';

/** Maximum length of a description that is shown to the model and to administrators, in characters. */
const MAX_DESCRIPTION = 4_000;
const MAX_TITLE = 200;
/** Maximum size of a schema of arguments, in characters of JSON; `MAX_SCHEMA_DEPTH` is its maximum nesting depth. */
const MAX_SCHEMA = 32_768;
const MAX_SCHEMA_DEPTH = 24;
/** Invisible characters, which nobody could compare: control characters, marks of direction or zero width, and tags. */
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u{200b}\u{2060}\u{feff}\u{e0000}-\u{e007f}]/gu;

/**
 * A server's definition of a tool, as it is stored and shown. It is treated as data, never as an instruction. The
 * digest covers the complete name, title, description and schema, before anything is cut or masked.
 * @returns the definition or, if the tool cannot be offered, the reason as the end of a sentence.
 */
export function defineTool(listed: ListedTool): ToolDefinition | { unusable: string } {
  const { name, description = '', inputSchema, annotations } = listed;
  const title = listed.title ?? annotations?.title ?? null;
  const schema = canonicalJson(inputSchema);
  if (schema.length > MAX_SCHEMA) return { unusable: 'the schema of its arguments is too large' };
  if (nestsDeeper(schema, MAX_SCHEMA_DEPTH))
    return { unusable: 'the schema of its arguments is nested too deeply' };
  const digest = createHash('sha256')
    .update(JSON.stringify([name, title, description, schema]))
    .digest('hex');
  return {
    digest,
    title: title === null ? null : cut(printable(seen(title)), MAX_TITLE),
    description: cut(seen(description), MAX_DESCRIPTION),
    schema: seen(schema),
  };
}

function seen(text: string): string {
  return maskTokens(text.replace(UNSEEN, ''));
}

function cut(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}
