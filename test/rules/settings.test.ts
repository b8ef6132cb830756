import { describe, expect, it } from 'vitest';
import type { ChannelPlugin, SettingRecord } from '../../src/channel/index.ts';
import { fileSettings } from '../../src/daemon/settings/secret-files.ts';
import { SETTINGS } from '../../src/daemon/settings/settings.ts';
import { filesBelow, read, sourcesBelow } from './source-files.ts';

/**
 * Settings that exist only in the environment, and words in capitals that are not settings (labels of the log,
 * constants).
 */
const NOT_SETTINGS = new Set([
  'NODE_ENV',
  'NO_COLOR',
  'NODE_EXTRA_CA_CERTS',
  'NAME_FILE',
  'LISTEN_FDS',
  'LISTEN_PID',
  'NOTIFY_SOCKET',
  'ANTHROPIC_API_KEY',
  'AZURE_RESOURCE_NAME',
  'AWS_REGION',
  'STATE_DIRECTORY',
  'CIRCUIT_OPEN',
  'TURN_LIMIT',
  'TEXT_MAX',
]);

/** Telex is the example channel of the documentation; the shop has its own secrets. */
const OF_AN_EXAMPLE = /^(TELEX|WIRE|SHOP)_/;

const plugins = await Promise.all(
  sourcesBelow('plugins')
    .filter((file) => /^plugins\/[^/]+\/index\.ts$/.test(file) && !file.startsWith('plugins/template/'))
    .map(async (file) => ((await import(`../../${file}`)) as { default: ChannelPlugin }).default),
);
const records: readonly SettingRecord[] = [...SETTINGS, ...plugins.flatMap(({ settings }) => settings)];
const fileNames = fileSettings(records);
const names = [...records.map(({ name }) => name), ...fileNames];

describe('settings', () => {
  it('have unique names', () => {
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('are each described in a sentence', () => {
    for (const { name, sentence } of records) expect(sentence, name).toMatch(/\.$/);
  });

  it.each(['man/agentd-settings.5.md', 'config/agentd.example.yaml'])('are in %s', (file) => {
    const text = read(file);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  it('include every setting that the manual pages name', () => {
    const manuals = filesBelow('man').filter((file) => file.endsWith('.md'));
    expect(manuals.flatMap((file) => strangersIn(file, read(file)))).toEqual([]);
  });

  it('include every setting that the advice of `agentd explain`, of errors and of commands names', () => {
    const advising = [
      ...sourcesBelow('src/cli/advice'),
      'src/cli/report-error.ts',
      'src/daemon/errors.ts',
      ...sourcesBelow('src/cli/commands'),
    ];
    expect(advising.flatMap((file) => strangersIn(file, textsOf(read(file))))).toEqual([]);
  });
});

/** Words that look like names of settings but are not, without the shell variables of examples. */
function strangersIn(file: string, text: string): string[] {
  const words = [...text.matchAll(/(?<![\w$])[A-Z]+(?:_[A-Z]+)+\b/g)].map(([word]) => word);
  const strangers = words.filter(
    (word) => !names.includes(word) && !NOT_SETTINGS.has(word) && !OF_AN_EXAMPLE.test(word),
  );
  return [...new Set(strangers)].map((word) => `${file}: ${word}`);
}

/** The string literals of a source, without inserted values. */
function textsOf(source: string): string {
  const literals = source.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  return literals.map((literal) => literal.replace(/\$\{[^}]*\}/g, '')).join('\n');
}
