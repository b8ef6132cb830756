import {
  ConfigurationError,
  type EffectiveSetting,
  inspectConfiguration,
  withDerived,
  withoutSecrets,
} from '../../daemon/admin/settings.ts';
import { Secret } from '../../daemon/admin/texts.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import type { Column } from '../output.ts';

export const command = defineCommand({
  description:
    'Shows every setting with its value and source: first the settings that are set, then the settings at their default. Secrets are masked. With --json, an array of {name, value, source, secret}; value is null for a setting that is not set. A broken configuration is shown, too, as far as possible; its problems are printed on standard error, and the exit code is 78.',
  options: { '--set': 'only settings that are set, not settings at their default' },
  examples: {
    'agentd config show --set': 'Shows which settings are set, and where.',
    'agentd config show --json | jq -r \'.[] | select(.name == "PORT") | .value\'':
      'Prints one value for a script.',
  },
  json: true,
  async run({ options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const effective = await withDerived(found.effective);
    const set = effective.filter(isSet);
    const others = options.set ? [] : effective.filter((setting) => !isSet(setting));
    out.list(SETTING_COLUMNS, [...set, ...others], 'No setting is set.');
    if (found.problems.length > 0) throw new ConfigurationError(found.problems);
  },
});

function isSet({ source }: EffectiveSetting): boolean {
  return source !== 'default' && source !== 'unset';
}

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
