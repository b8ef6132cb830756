import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settingsFiles } from '../../../man/build/settings-page.ts';
import type { SettingRecord } from '../../../src/channel/index.ts';
import { command as reference } from '../../../src/cli/commands/config-reference.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import { settingsSchema } from '../../../src/daemon/settings/json-schema.ts';
import { exampleFile, settingGroups, settingsReference } from '../../../src/daemon/settings/reference.ts';
import { SETTINGS } from '../../../src/daemon/settings/settings.ts';
import { TEXTS } from '../../../src/daemon/texts/text-records.ts';
import { capturedOutput, exitCodeOf } from '../cli/captured-output.ts';
import { placeWith, VALID } from './place.ts';

const groups = settingGroups([]);

describe.each([...(await settingsFiles())])('%s', (file, content) => {
  it('is the same as the output of `npm run man`', () => {
    expect(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')).toBe(content);
  });
});

describe('the reference of the settings', () => {
  it('describes for each setting its effect, its allowed values and its default', () => {
    const text = settingsReference(groups);
    expect(text).toContain(
      'PORT\n    Port to listen on; 0 chooses a free port.\n    A whole number from 0 to 65535; default 8080.\n',
    );
    expect(SETTINGS.filter(({ name }) => !text.includes(`\n${name}\n`))).toEqual([]);
  });

  it('lists the texts that people see, with their defaults', () => {
    const text = settingsReference(groups);
    expect(text).toContain('texts.LANGUAGE.confirm\n');
    expect(text).toContain('Default ["yes", "ok", "confirm", "yes please"].');
    for (const [name, { sentence }] of Object.entries(TEXTS))
      expect(text).toContain(`texts.LANGUAGE.${name}\n    ${sentence}\n`);
  });

  it('is printed even with a broken configuration', async () => {
    const { env, cwd } = placeWith({}, { 'agentd.yaml': '[' });
    const { out, stdout } = capturedOutput({ json: true });
    expect(await exitCodeOf(reference, { args: [], options: { config: `${cwd}/agentd.yaml` }, out })).toBe(0);
    expect(env.JWT_ALGORITHM).toBeUndefined();
    expect(JSON.parse(stdout.text).properties).toHaveProperty('WEBCHAT_ENABLED');
  });
});

describe('the JSON Schema of the settings', () => {
  const { properties } = settingsSchema(groups) as { properties: Record<string, object> };

  it('gives each setting its type, bounds and default', () => {
    expect(properties.PORT).toEqual({
      title: 'PORT',
      description: 'Port to listen on; 0 chooses a free port.',
      type: 'integer',
      minimum: 0,
      maximum: 65_535,
      default: 8080,
    });
  });

  it('marks secret settings, and shows none of their values', () => {
    expect(properties.JWT_SECRET_KEY).toMatchObject({
      type: ['string', 'array'],
      writeOnly: true,
    });
    expect(properties.API_PASSWORD).toMatchObject({ type: 'string', writeOnly: true });
    expect(properties.JWT_SECRET_KEY).not.toHaveProperty('default');
  });
});

describe('the generated example configuration', () => {
  it('changes no setting if it is used unchanged', async () => {
    const { effective } = await configure(placeWith(VALID, { 'agentd.yaml': exampleFile(groups) }));
    expect(effective.filter(({ source }) => source === 'agentd.yaml')).toEqual([]);
  });

  it('sets every setting to its default if all are uncommented', async () => {
    const uncommented = exampleFile(groups).replace(/^# (?=[A-Za-z]+(_[A-Z]+)*:)/gm, '');
    const { effective } = await configure(placeWith(VALID, { 'agentd.yaml': uncommented }));
    const byDefault = SETTINGS.filter((record) => 'default' in record && record.name !== 'STATE_DIR');
    for (const record of byDefault as SettingRecord[]) {
      expect(effective.find((setting) => setting.record === record)).toMatchObject({
        source: 'agentd.yaml',
        value: record.default,
      });
    }
  });
});
