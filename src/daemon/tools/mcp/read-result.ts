import type { CallToolResult } from '@ai-sdk/mcp';
import { isObject } from '../../../channel/json-object.ts';

/**
 * The content of a result: its structured content if there is any, otherwise its texts. A note names the types of parts
 * that cannot be shown as text.
 */
export function readResult({ content, structuredContent }: CallToolResult): unknown {
  const texts: string[] = [];
  const left_out: string[] = [];
  for (const part of Array.isArray(content) ? content : []) {
    const text = textOf(part);
    if (text !== null) texts.push(text);
    else left_out.push(`${part.type}${typeof part.mimeType === 'string' ? ` (${part.mimeType})` : ''}`);
  }
  const note = left_out.length === 0 ? null : `[left out: ${left_out.join(', ')}]`;
  if (structuredContent === undefined || structuredContent === null)
    return [...texts, ...(note === null ? [] : [note])].join('\n\n');
  if (note === null) return structuredContent;
  return isObject(structuredContent) && !Object.hasOwn(structuredContent, 'left_out')
    ? { ...structuredContent, left_out: note }
    : structuredContent;
}

type Part = Extract<CallToolResult, { content: unknown[] }>['content'][number];

/** The text of a part; null for images, sound and other data. */
function textOf(part: Part): string | null {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? part.text : '';
    case 'resource': {
      const { uri, text } = part.resource as { uri: string; text?: unknown };
      return typeof text === 'string' ? `[${uri}]\n${text}` : null;
    }
    case 'resource_link':
      return `[${String(part.name)}: ${String(part.uri)}]`;
    default:
      return null;
  }
}
