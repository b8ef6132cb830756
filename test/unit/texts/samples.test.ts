import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import { WIDGET_TEXTS, widgetTranslations } from '../../../plugins/webchat/texts.ts';
import { ENGLISH } from '../../../plugins/webchat/widget/texts.ts';
import { loadPlugins } from '../../../src/daemon/channels/load.ts';
import { checkTexts } from '../../../src/daemon/settings/configure/check-texts.ts';
import { textRecords } from '../../../src/daemon/texts/text-records.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';

// agentd-settings(5), "Texts": the sample translations in the package.

const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
const own = plugins.flatMap(({ plugin }) => plugin.texts ?? []);
const records = textRecords(own);

function sample(tag: string) {
  const file = new URL(`../../../config/texts.${tag}.yaml`, import.meta.url);
  const { texts } = load(readFileSync(file, 'utf8')) as { texts: object };
  const given = { key: 'texts', value: texts, source: 'agentd.yaml', folder: '/', findLine: () => null };
  return checkTexts(given, own);
}

it.each(['de', 'es'])(
  'texts.%s.yaml is valid, has the same placeholders as the defaults, and covers every text',
  (tag) => {
    const { replaced, problems } = sample(tag);
    expect(problems).toEqual([]);
    expect([...replaced.keys()]).toEqual([tag]);
    expect(Object.keys(replaced.get(tag) ?? {}).sort()).toEqual(Object.keys(records).sort());
  },
);

it.each(['de', 'es'])(
  'texts.%s.yaml has the same marks (❌ and ✅) and the same commands as the defaults',
  (tag) => {
    const texts = sample(tag).replaced.get(tag) ?? {};
    for (const [name, record] of Object.entries(records)) {
      if (record.kind !== 'text') continue;
      const mark = /^[❌✅]/u.exec(record.default)?.[0] ?? '';
      expect([name, String(texts[name]).startsWith(mark)]).toEqual([name, true]);
      const commands = (text: string) => [...new Set(text.match(/`[^`]*`/g))].sort();
      expect([name, commands(String(texts[name]))]).toEqual([name, commands(record.default)]);
    }
  },
);

it('a text of a channel is in the language of the reader if it is translated, otherwise in DEFAULT_LOCALE, otherwise in English', () => {
  const { replaced } = sample('de');
  const [text] = own.filter(({ name }) => name === 'msgbot_signed_out');
  if (!text) throw new Error('there is no such text');
  const said = (default_locale: string, locale?: string) =>
    new Texts(replaced, default_locale).in(locale).sayOwn(text);
  expect(said('en', 'de-AT')).toBe('✅ Sie sind hier abgemeldet.');
  expect(said('de')).toBe('✅ Sie sind hier abgemeldet.');
  expect(said('de', 'en-US')).toBe(text.default);
  expect(said('en', 'fr')).toBe(text.default);
});

it('the widget gets its texts in every language, with the language of DEFAULT_LOCALE first', () => {
  const replaced = new Map([...sample('de').replaced, ...sample('es').replaced]);
  const texts = new Texts(replaced, 'es');
  const served = widgetTranslations(texts.translations(WIDGET_TEXTS.map(({ name }) => name)));
  expect(Object.keys(served)).toEqual(['es', 'en', 'de']);
  expect(served.en).toEqual(ENGLISH);
  expect(served.de).toMatchObject({
    send: 'Nachricht senden',
    failures: { body_too_large: 'Ihre Nachricht ist zu lang. Bitte kürzen Sie sie.' },
    tools: { get_user: 'Konto nachsehen' },
  });
  // Each text of the widget has a translation, even if it equals the English text.
  expect(Object.keys(served.de ?? {})).toEqual(Object.keys(ENGLISH));
});
