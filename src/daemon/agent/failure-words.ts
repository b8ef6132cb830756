import { jsonObjectOrNull } from '../../channel/json-object.ts';
import { plainText } from './record-markdown.ts';

/** The message of a refused call, with the status and the body of the answer. */
const REFUSED = /^The call was refused with the status (\d+)\.(?: The answer was: (.*))?$/s;
/** Members of an answer that may contain a sentence for people, as in RFC 9457 and in other APIs, best first. */
const SENTENCES = ['detail', 'message', 'error', 'title'] as const;

/**
 * The message of a failed call for a person, in CommonMark. A model gets the answer of the other system unchanged, but
 * a person should not have to read JSON.
 */
export function failureWords(message: string): string {
  const [, status, body] = REFUSED.exec(message) ?? [];
  if (status === undefined) return plainText(message);
  const said = sentenceIn(body ?? '');
  if (said === undefined) return `The other system refused it (status ${status}).`;
  return `The other system refused it: ${plainText(said)}`;
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
