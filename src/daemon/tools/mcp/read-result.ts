import type { CallToolResult } from '@ai-sdk/mcp';
import { isObject } from '../../../channel/json-object.ts';
import { asFields } from '../../../channel/payload.ts';
import { isSecureAddress } from '../../settings/addresses.ts';
import { cutText, printable } from '../../texts/printable.ts';
import type { Need } from '../tool.ts';

/**
 * The content of a result: its structured content if there is any, otherwise its texts. A note names the types of parts
 * that cannot be shown as text.
 */
export function readResult({ content, structuredContent }: CallToolResult): unknown {
  const texts: string[] = [];
  const left_out: string[] = [];
  for (const part of Array.isArray(content) ? content : []) {
    const text = readText(part);
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
function readText(part: Part): string | null {
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

/** The code of the error with which a server says that the person must open a page first. */
export const INPUT_REQUIRED = -32042;
/** The code of the error with which a server says that the client lacks a capability. */
const CAPABILITY_MISSING = -32021;
export const MAX_NEEDS = 5;
/**
 * Maximum length of a server's text about a call, in characters. It is longer than what is shown of it, so that no token
 * in it is cut before it is masked.
 */
export const MAX_SAID = 20_000;
const MAX_FIELDS = 20;
const MAX_URL_CHARACTERS = 2_000;

/**
 * What a server needs according to an error; null if the error says nothing about it.
 * @param data `data` of the error, unchecked
 */
export function needsOfError(code: number | undefined, data: unknown): Need[] | null {
  if (code === INPUT_REQUIRED) {
    const { elicitations } = asFields(data);
    const asked: unknown[] = Array.isArray(elicitations) ? elicitations.slice(0, MAX_NEEDS) : [];
    return asked.map((params) => readNeed('elicitation/create', params));
  }
  if (code !== CAPABILITY_MISSING) return null;
  const missing = Object.entries(asFields(asFields(data).requiredCapabilities)).map(([name, parts]) =>
    [name, ...Object.keys(asFields(parts))].join(' '),
  );
  return [{ message: clean(`something that this service cannot do: ${missing.join(', ')}`), url: null }];
}

/** What a server needs according to the `inputRequests` of a result, unchecked. */
export function needsIn(requests: unknown): Need[] {
  return Object.values(asFields(requests))
    .slice(0, MAX_NEEDS)
    .map((request) => readNeed(asFields(request).method, asFields(request).params));
}

/** What a server needs according to one of its requests, unchecked. */
export function readNeed(method: unknown, params: unknown): Need {
  if (method !== 'elicitation/create')
    return { message: clean(`something that this service cannot do: ${String(method)}`), url: null };
  const { mode, url, message, requestedSchema } = asFields(params);
  const text = typeof message === 'string' ? clean(message) : '';
  if (mode === 'url') return { message: text, url: typeof url === 'string' ? safeUrl(url) : null };
  const fields = Object.keys(asFields(asFields(requestedSchema).properties)).slice(0, MAX_FIELDS);
  return { message: clean(`${text}${fields.length === 0 ? '' : ` (${fields.join(', ')})`}`), url: null };
}

/**
 * An address that a person may be asked to open, with its host in ASCII form; null if it is neither https nor loopback,
 * or contains credentials.
 */
function safeUrl(text: string): string | null {
  const url = text.length > MAX_URL_CHARACTERS ? null : URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return null;
  return isSecureAddress(url.href) && url.href.length <= MAX_URL_CHARACTERS ? url.href : null;
}

function clean(text: string): string {
  return cutText(printable(text).trim(), MAX_SAID);
}
