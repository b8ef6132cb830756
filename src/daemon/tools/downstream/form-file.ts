import { isObject } from '../../../channel/json-object.ts';

/** A file in a form with the type `multipart/form-data`. */
export interface FormFile {
  readonly content: Uint8Array;
  readonly file_name: string;
  readonly content_type: string;
}

type Fields = Readonly<Record<string, unknown>>;

const MEMBERS = ['text', 'base64', 'bytes', 'file_name', 'content_type'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MEDIA_TYPE =
  /^[A-Za-z0-9!#$&^_.+-]{1,60}\/[A-Za-z0-9!#$&^_.+-]{1,60}(?:; ?charset=[A-Za-z0-9_-]{1,20})?$/;

/** Whether a value has the form of a file, even if it is not valid. */
export function isFileLike(value: unknown): value is Fields {
  return (
    isObject(value) &&
    ['text', 'base64', 'bytes'].some((name) => Object.hasOwn(value, name)) &&
    Object.keys(value).every((name) => MEMBERS.includes(name))
  );
}

/**
 * Reads a file: `{ text }`, `{ base64 }` or, from a module, `{ bytes }`, with `file_name` and `content_type` if they are
 * known. Neither of them can add a line to the header of its part.
 * @param by_default the media type of a file without `content_type`, if it is known.
 * @returns a text that completes a sentence about the value if it is not valid.
 */
export function readFormFile(value: Fields, max_bytes: number, by_default?: string): FormFile | string {
  const { file_name, content_type } = value;
  const given = ['text', 'base64', 'bytes'].filter((name) => value[name] !== undefined);
  if (given.length !== 1) return 'needs exactly one of `text` and `base64`';
  const content = readContent(value);
  if (typeof content === 'string') return content;
  if (content.byteLength > max_bytes) return `is larger than ${Math.floor(max_bytes / 1024)} KiB`;
  if (file_name !== undefined && typeof file_name !== 'string') return 'has a `file_name` that is not a text';
  if (content_type !== undefined && (typeof content_type !== 'string' || !MEDIA_TYPE.test(content_type)))
    return 'has a `content_type` that is not a media type such as `image/png`';
  return {
    content,
    file_name: fileName(file_name ?? ''),
    content_type:
      content_type ??
      by_default ??
      (given[0] === 'text' ? 'text/plain; charset=utf-8' : 'application/octet-stream'),
  };
}

function readContent({ text, base64, bytes }: Fields): Uint8Array | string {
  if (bytes !== undefined)
    return bytes instanceof Uint8Array ? bytes : 'has `bytes` that are not a Uint8Array';
  if (text !== undefined)
    return typeof text === 'string'
      ? Buffer.from(text.toWellFormed(), 'utf8')
      : 'has a `text` that is not a text';
  const isBase64 = typeof base64 === 'string' && BASE64.test(base64);
  return isBase64 ? Buffer.from(base64, 'base64') : 'has a `base64` that is not valid base64';
}

const MAX_CHARACTERS = 100;
const WITHOUT_NAME = 'file';

/**
 * The name under which a file is uploaded: the last part of a path, without the characters that end a header, that
 * structure a path, or that change the direction of a text.
 */
function fileName(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const plain = last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"<>:|?*%;]/gu, '').replace(/^[.\s]+|[.\s]+$/g, '');
  const [...characters] = plain;
  return characters.slice(0, MAX_CHARACTERS).join('') || WITHOUT_NAME;
}
