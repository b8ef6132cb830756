import type { SettingValue } from '../channel/index.ts';
import type { EffectiveSetting } from '../daemon/configuration/configure.ts';
import { Secret } from '../daemon/secret.ts';
import { withoutSecrets } from '../daemon/settings/shown.ts';

/** A setting as `--json` prints it. */
export interface SettingView {
  name: string;
  /** Null where it is not set. */
  value: SettingValue | null;
  /** `environment`, `.env`, the path of the configuration file, `default` or `unset`. */
  source: string;
  secret: boolean;
}

/** Values in their own types; of a secret, and of what is wrong, what may be shown. */
export function settingView({ record, value, source, shown }: EffectiveSetting): SettingView {
  const isShown = value instanceof Secret || (value === undefined && source !== 'unset');
  return {
    name: record.name,
    value: isShown ? shown : typeof value === 'string' ? withoutSecrets(value) : (value ?? null),
    source,
    secret: record.secret === true,
  };
}
