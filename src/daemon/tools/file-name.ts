const MAX_CHARACTERS = 100;
const WITHOUT_NAME = 'file';

/**
 * The name under which a file is uploaded: the last part of a path, without the characters that end a header, that
 * structure a path, or that change the direction of a text.
 */
export function fileName(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const plain = last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"<>:|?*%;]/gu, '').replace(/^[.\s]+|[.\s]+$/g, '');
  const [...characters] = plain;
  return characters.slice(0, MAX_CHARACTERS).join('') || WITHOUT_NAME;
}
