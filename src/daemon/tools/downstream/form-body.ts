import { randomBytes } from 'node:crypto';

/** The body of a request in the form in which it is sent, if it is not JSON. */
export interface EncodedBody {
  readonly content_type: string;
  readonly content: string | Uint8Array;
  /** The same for people who look at the request (`agentd tools call`). */
  readonly shown: unknown;
}

/** A form with the type `application/x-www-form-urlencoded`. @param pairs encoded pairs, as `name=value` */
export function formBody(pairs: readonly string[]): EncodedBody {
  const text = pairs.join('&');
  return { content_type: 'application/x-www-form-urlencoded', content: text, shown: text };
}

/**
 * Why a value cannot be written into a form without losing a part of it; null if it can. The text is a sentence about
 * `place` without a full stop.
 */
export function findFormProblem(path: string, value: unknown): string | null {
  if (value === null || value === undefined)
    return `\`${path}\` cannot be null, because a form has no null: leave it out`;
  if (typeof value !== 'object') return null;
  const entries = Object.entries(value);
  if (entries.length === 0)
    return `\`${path}\` cannot be empty, because a form has no empty list or object: leave it out`;
  for (const [key, inner] of entries) {
    const problem = findFormProblem(`${path}.${key}`, inner);
    if (problem !== null) return problem;
  }
  return null;
}

/** One part of a form. A part with a `file_name` is a file. */
export interface FormPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly file_name?: string;
  readonly content_type?: string;
}

/**
 * A form with the type `multipart/form-data` (RFC 7578). Its fields come before its files, because some servers need the
 * fields first. The boundary is random, so no content can contain it.
 */
export function multipartBody(parts: readonly FormPart[]): EncodedBody {
  const boundary = `agentd-${randomBytes(24).toString('hex')}`;
  const ordered = [
    ...parts.filter(({ file_name }) => file_name === undefined),
    ...parts.filter(({ file_name }) => file_name !== undefined),
  ];
  const chunks = ordered.flatMap(({ name, content, file_name, content_type }) => {
    const file = file_name === undefined ? '' : `; filename="${quoteText(file_name)}"`;
    const type = content_type === undefined ? '' : `content-type: ${content_type}\r\n`;
    return [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${quoteText(name)}"${file}\r\n${type}\r\n`,
      ),
      typeof content === 'string' ? Buffer.from(content.toWellFormed()) : content,
      Buffer.from('\r\n'),
    ];
  });
  return {
    content_type: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
    shown: ordered.map(({ name, content, file_name, content_type }) => ({
      name,
      ...(file_name === undefined ? {} : { file_name }),
      ...(content_type === undefined ? {} : { content_type }),
      ...(typeof content === 'string' ? { value: content } : { bytes: content.byteLength }),
    })),
  };
}

/** The text as browsers write it between quotes (HTML, "Multipart form data"). */
function quoteText(text: string): string {
  return text
    .toWellFormed()
    .replace(/["\r\n]/g, (character) => encodeURIComponent(character))
    .replace(/\p{Cc}/gu, ' ');
}
