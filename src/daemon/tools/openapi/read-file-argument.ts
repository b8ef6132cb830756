import { type FormFile, readFormFile } from '../form-file.ts';
import { MAX_FILE_BYTES } from './file-schema.ts';
import { concreteTypes, essenceOf } from './media-type.ts';
import { UnusableArgument } from './unusable-argument.ts';

/**
 * Reads a file that a model gives.
 * @param place the name of the argument, for messages.
 * @param content_types the media types that the document allows; any if there are none.
 * @throws UnusableArgument
 */
export function readFileArgument(
  place: string,
  value: Readonly<Record<string, unknown>>,
  content_types: readonly string[],
): FormFile {
  const file = readFormFile(value, MAX_FILE_BYTES, concreteTypes(content_types)[0]);
  if (typeof file === 'string') throw new UnusableArgument(`The argument \`${place}\` ${file}.`);
  if (!isAllowed(file.content_type, content_types))
    throw new UnusableArgument(
      `The argument \`${place}.content_type\` must be one of ${content_types.join(', ')}.`,
    );
  return file;
}

function isAllowed(type: string, allowed: readonly string[]): boolean {
  const essence = essenceOf(type);
  return (
    allowed.length === 0 ||
    allowed.some((one) => {
      const known = essenceOf(one);
      return (
        known === '*/*' ||
        known === essence ||
        (known.endsWith('/*') && essence.startsWith(known.slice(0, -1)))
      );
    })
  );
}
