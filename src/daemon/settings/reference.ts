import type { ChannelPlugin, ChannelText, SettingRecord } from '../../channel/index.ts';
import { fileSettingOf } from './file-setting.ts';
import { SETTINGS } from './settings.ts';
import { shown } from './shown.ts';
import { textsReference } from './texts-reference.ts';
import { rightForm } from './value.ts';

/** Settings that are listed together. */
export interface SettingGroup {
  title: string;
  records: readonly SettingRecord[];
}

/** All settings: the daemon's own, then those of each channel. */
export function settingGroups(plugins: readonly ChannelPlugin[]): SettingGroup[] {
  return [
    { title: 'The daemon', records: SETTINGS },
    ...plugins.map(({ name, settings }) => ({ title: `The channel ${name}`, records: settings })),
  ];
}

/** The accepted values, the default, and whether the setting is a secret, on one line. */
export function formOf(record: SettingRecord): string {
  const parts = [rightForm(record), defaultInWords(record)];
  if (record.secret)
    parts.push(`secret; or ${fileSettingOf(record.name)}, the path of a file that contains it`);
  return parts.filter((part) => part !== '').join('; ');
}

/** The reference of all settings and texts, for a terminal (`agentd config reference`). */
export function settingsReference(
  groups: readonly SettingGroup[],
  texts: readonly ChannelText[] = [],
): string {
  const settings = groups.map(({ title, records }) => [`${title}\n`, ...records.map(entry)].join('\n'));
  return [...settings, textsReference(texts)].join('\n\n').concat('\n');
}

function entry(record: SettingRecord): string {
  const lines = [record.name, `    ${record.sentence}`, `    ${capital(formOf(record))}.`];
  if (record.example !== undefined) lines.push(`    Example: ${record.name}=${record.example}`);
  return `${lines.join('\n')}\n`;
}

function defaultInWords(record: SettingRecord): string {
  if (record.required) return 'required';
  if (record.default === undefined) return 'unset by default';
  const text = shown({}, record.default);
  return text === '' ? 'empty by default' : `default ${text}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
