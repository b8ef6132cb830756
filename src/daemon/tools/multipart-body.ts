import { randomBytes } from 'node:crypto';
import type { EncodedBody } from './downstream/encoded-body.ts';

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
    const file = file_name === undefined ? '' : `; filename="${quoted(file_name)}"`;
    const type = content_type === undefined ? '' : `content-type: ${content_type}\r\n`;
    return [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n${type}\r\n`,
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
function quoted(text: string): string {
  return text
    .toWellFormed()
    .replace(/["\r\n]/g, (character) => encodeURIComponent(character))
    .replace(/\p{Cc}/gu, ' ');
}
