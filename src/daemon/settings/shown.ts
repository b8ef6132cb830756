import type { SettingRecord, SettingValue } from '../../channel/index.ts';

/** Maximum number of characters of a value that a problem or a table shows. */
const SHOWN_MAX = 200;

/** Shown instead of a secret. */
export const SECRET_SHOWN = '[secret]';

/** A value as people may see it, after validation or as it was given. Undefined is shown as `-`. */
export function shown(
  record: Pick<SettingRecord, 'secret'>,
  value: SettingValue | undefined | unknown,
): string {
  if (value === undefined) return '-';
  if (record.secret) return SECRET_SHOWN;
  const text =
    typeof value === 'string'
      ? value
      : Array.isArray(value) && value.every((item) => typeof item === 'string')
        ? value.join(',')
        : JSON.stringify(value);
  return bounded(withoutSecrets(text));
}

/**
 * The value of a setting that is not a secret, without secrets that it should not contain: the credentials of an
 * address, or a private key. They are not shown even if the value is refused because of them.
 */
export function withoutSecrets(text: string): string {
  return text
    .replace(/(\w:\/\/)[^/?#@\s]*@/g, '$1[secret]@')
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----.*/s, SECRET_SHOWN);
}

function bounded(text: string): string {
  const characters = [...text];
  return characters.length > SHOWN_MAX ? `${characters.slice(0, SHOWN_MAX).join('')}…` : text;
}
