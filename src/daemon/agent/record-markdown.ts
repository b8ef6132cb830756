import { jsonObjectOrNull } from '../../channel/json-object.ts';
import { cutText } from '../texts/printable.ts';

const MAX_DEPTH = 4;
const MAX_TEXT_CHARACTERS = 300;

/**
 * A record of the business system as a Markdown list for people: names spelled out, nested lists below their name,
 * without empty values and without technical fields of the format (`@id`, `@type`).
 */
export function recordAsMarkdown(record: Record<string, unknown>): string {
  return fieldLines(record, 0).join('\n');
}

/** The result of a tool, whatever its type, as Markdown for people. Empty if there is nothing to show. */
export function valueAsMarkdown(value: unknown): string {
  if (isEmpty(value)) return '';
  if (Array.isArray(value)) return value.flatMap((entry) => entryLines(entry, 0)).join('\n');
  if (typeof value === 'string') return value.split('\n').map(plainText).join('\n').trim();
  return isScalar(value) ? plainText(value) : recordAsMarkdown(value as Record<string, unknown>);
}

/** A value as plain words: one line, and nothing in it that Markdown would take for a link, code or HTML. */
export function plainText(value: unknown): string {
  const line = String(value).replace(/\s+/g, ' ').trim();
  return cutText(line, MAX_TEXT_CHARACTERS).replace(/[[\]<>`*\\]/g, '\\$&');
}

/**
 * Removes asterisks and escapes from Markdown that this file has made, for a channel that does not render Markdown.
 * Lists remain readable.
 */
export function unmarked(text: string): string {
  return text.replace(/\\([[\]<>`*\\])|\*\*/g, (_mark, escaped: string | undefined) => escaped ?? '');
}

function fieldLines(record: Record<string, unknown>, depth: number): string[] {
  return shownFields(record).flatMap(([name, value]) => valueLines(`**${fieldName(name)}**`, value, depth));
}

function valueLines(name: string, value: unknown, depth: number): string[] {
  const bullet = `${'  '.repeat(depth)}- `;
  if (isScalar(value)) return [`${bullet}${name}: ${plainText(value)}`];
  if (depth === MAX_DEPTH) return [`${bullet}${name}: …`];
  if (!Array.isArray(value))
    return [`${bullet}${name}`, ...fieldLines(value as Record<string, unknown>, depth + 1)];
  if (value.every(isScalar)) return [`${bullet}${name}: ${value.map(plainText).join(', ')}`];
  return [`${bullet}${name} (${value.length})`, ...value.flatMap((entry) => entryLines(entry, depth + 1))];
}

/**
 * An entry of a list: its plain fields on one line, nested values below. The first of several fields names the entry, so
 * its value is the head of the line.
 */
function entryLines(entry: unknown, depth: number): string[] {
  const bullet = `${'  '.repeat(depth)}- `;
  if (isScalar(entry)) return [`${bullet}${plainText(entry)}`];
  if (depth >= MAX_DEPTH || Array.isArray(entry)) return [`${bullet}…`];
  const fields = shownFields(entry as Record<string, unknown>);
  const plain = fields.filter(([, value]) => isScalar(value));
  const nested = fields.filter(([, value]) => !isScalar(value));
  const words = plain.map(([name, value], index) =>
    index === 0 && plain.length > 1 && typeof value !== 'boolean'
      ? `**${plainText(value)}**`
      : `${fieldName(name)}: ${plainText(value)}`,
  );
  return [
    `${bullet}${words.join('\u00a0· ') || '…'}`,
    ...nested.flatMap(([name, value]) => valueLines(fieldName(name), value, depth + 1)),
  ];
}

function shownFields(record: Record<string, unknown>): [string, unknown][] {
  return Object.entries(record).filter(([name, value]) => !name.startsWith('@') && !isEmpty(value));
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value !== 'object';
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** `firstName`, `first_name` → `First name`. */
export function fieldName(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase();
  return plainText(words.charAt(0).toUpperCase() + words.slice(1));
}

/** The message of a refused call, with the status and the body of the answer. */
const REFUSED = /^The call was refused with the status (\d+)\.(?: The answer was: (.*))?$/s;
/** What such a message asks of the model itself, at its end. */
const FOR_THE_MODEL = / Tell (?:the person|them)\b[^.]*\.$/;
/** Members of an answer that may contain a sentence for people, as in RFC 9457 and in other APIs, best first. */
const SENTENCES = ['detail', 'message', 'error', 'title'] as const;

/**
 * The message of a failed call for a person, in CommonMark. A model gets the answer of the other system unchanged, but
 * a person should not have to read JSON.
 */
export function failureWords(message: string): string {
  const [, status, body] = REFUSED.exec(message) ?? [];
  if (status === undefined) return plainText(message.replace(FOR_THE_MODEL, ''));
  const said = sentenceIn(body ?? '');
  if (said === undefined) return `The request was refused (status ${status}).`;
  return plainText(said);
}

function sentenceIn(body: string): string | undefined {
  const answer = jsonObjectOrNull(body);
  if (answer !== null) return SENTENCES.map((name) => answer[name]).find(isSentence);
  // Other JSON, truncated JSON and HTML are not meant for people.
  return /^\s*[<[{"]/.test(body) || !isSentence(body) ? undefined : body;
}

function isSentence(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
