import type { EffectiveSetting } from '../../daemon/configuration/configure.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { settingView } from '../setting-view.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'config show',
  summary: 'Show the effective settings and where each comes from.',
  description:
    'Every setting with its value and source: what is set first, then what is at its default. Secrets are masked. With --json an array of {name, value, source, secret}; value is null for what is not set. A broken configuration is shown too, as far as it goes: its problems follow on standard error, and the exit code is 78.',
  options: [{ flags: '--set', sentence: 'only what is set, not what is at its default' }],
  examples: [
    { line: 'agentd config show --set', does: 'Tells what is set, and where.' },
    {
      line: `agentd config show --json | jq -r '.[] | select(.name == "PORT") | .value'`,
      does: 'Hands one value to a script.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { ConfigurationError, inspectConfiguration } = await import(
      '../../daemon/configuration/configure.ts'
    );
    const { effective, problems } = await inspectConfiguration(placeOf(options));
    const listed = options.set === true ? effective.filter(isSet) : setFirst(effective);
    out.data(listed.map(settingView), () =>
      out.table(
        ['SETTING', 'VALUE', 'SOURCE'],
        listed.map(({ record, shown, source }) => [record.name, shown, source]),
      ),
    );
    if (problems.length > 0) throw new ConfigurationError(problems);
    return EXIT.ok;
  },
};

function isSet({ source }: EffectiveSetting): boolean {
  return source !== 'default' && source !== 'unset';
}

function setFirst(effective: readonly EffectiveSetting[]): EffectiveSetting[] {
  return [...effective.filter(isSet), ...effective.filter((setting) => !isSet(setting))];
}
