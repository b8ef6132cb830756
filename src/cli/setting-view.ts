import { withoutSecrets } from '../daemon/admin/setting-values.ts';
import type { EffectiveSetting } from '../daemon/admin/settings.ts';
import { Secret } from '../daemon/admin/texts.ts';
import type { Column } from './column.ts';

/** A setting with its effective value. Secrets are masked. */
export const SETTING_COLUMNS: readonly Column<EffectiveSetting>[] = [
  { title: 'SETTING', json: 'name', value: ({ record }) => record.name },
  { title: 'VALUE', json: 'value', value: shownValue, text: ({ shown }) => shown, narrow: 'cut' },
  { title: 'SOURCE', json: 'source' },
  { json: 'secret', value: ({ record }) => record.secret === true },
];

/**
 * The value in its own type; null if the setting is not set. Secrets and invalid values are texts that are safe to
 * show.
 */
function shownValue({ value, source, shown }: EffectiveSetting): unknown {
  if (value instanceof Secret || (value === undefined && source !== 'unset')) return shown;
  return typeof value === 'string' ? withoutSecrets(value) : (value ?? null);
}
