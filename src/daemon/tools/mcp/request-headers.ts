import type { JSONRPCMessage } from '@ai-sdk/mcp';

const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/** The headers that repeat parts of a request, from version 2026-07-28 on, so that proxies need not read its body. */
export function requestHeaders(message: JSONRPCMessage): Record<string, string> {
  if (!('method' in message)) return {};
  const { method, params } = message;
  const { name } = (params ?? {}) as { name?: unknown };
  const named = method === 'tools/call' && typeof name === 'string' ? { 'mcp-name': encoded(name) } : {};
  return { 'mcp-method': method, ...named };
}

/** A text as the value of a header: in base64, with a mark, unless every header can contain it as it is. */
function encoded(text: string): string {
  if (PLAIN.test(text) && !ENCODED.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
