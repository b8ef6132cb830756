import type { ChannelPlugin, ChannelSettings, SettingRecord } from '../channel/index.ts';
import { ConfigurationError, type Inspection, notSet } from '../daemon/admin/settings.ts';

/**
 * The settings of a channel, for a command that needs some of them.
 * @param why what is said of a needed one that is not set
 * @throws ConfigurationError if a needed setting is not set, or if a setting of the channel is wrong
 */
export async function channelSettings(
  { settings }: ChannelPlugin,
  { effective, problems }: Pick<Inspection, 'effective' | 'problems'>,
  isNeeded: (record: SettingRecord) => boolean | undefined,
  why: string,
): Promise<ChannelSettings> {
  const own = effective.filter(({ record }) => settings.includes(record));
  const wrong = problems.filter(({ setting }) => own.some(({ record }) => record.name === setting));
  const missing = own.filter(
    ({ record, value }) =>
      isNeeded(record) && value === undefined && wrong.every(({ setting }) => setting !== record.name),
  );
  const unset = await Promise.all(missing.map(({ record }) => notSet(record, why)));
  if (wrong.length + unset.length > 0) throw new ConfigurationError([...wrong, ...unset]);
  return Object.fromEntries(own.map(({ record, value }) => [record.name, value])) as ChannelSettings;
}
