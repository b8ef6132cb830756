import type { ChannelText } from '../../channel/index.ts';
import { type TextRecord, textRecords } from '../texts/text-records.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** The texts with their defaults, for a terminal (`agentd config reference`). */
export function textsReference(own: readonly ChannelText[]): string {
  const entries = Object.entries(textRecords(own)).map(
    ([name, record]) => `texts.LANGUAGE.${name}\n    ${record.sentence}\n    Default ${defaultOf(record)}.\n`,
  );
  return ['Texts\n', ...entries].join('\n');
}

/** The default as JSON, which is also YAML. */
export function defaultOf({ default: text }: TextRecord): string {
  return JSON.stringify(text).replaceAll('","', '", "');
}

/** JSON Schema of `texts` in the configuration file. */
export function textsSchema(own: readonly ChannelText[]): JsonSchema {
  const records = Object.entries(textRecords(own));
  return {
    title: 'texts',
    description: 'Texts that people see, by language and then by name. They replace the defaults.',
    type: 'object',
    default: {},
    propertyNames: { pattern: '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$' },
    additionalProperties: {
      type: 'object',
      properties: Object.fromEntries(records.map(([name, record]) => [name, schemaOf(record)])),
      additionalProperties: false,
    },
  };
}

function schemaOf(record: TextRecord): JsonSchema {
  const about = { description: record.sentence, default: record.default };
  const word = { type: 'string', minLength: 1, maxLength: 100 };
  if (record.kind === 'words') return { ...about, type: ['array', 'string'], items: word, minItems: 1 };
  const limit = record.limit === null ? {} : { maxLength: record.limit };
  const parts = record.placeholders.map((name) => ({ pattern: `\\{${name}\\}` }));
  return {
    ...about,
    type: 'string',
    minLength: 1,
    ...limit,
    ...(parts.length === 0 ? {} : { allOf: parts }),
  };
}

/** An example in which every line is a comment. */
export const TEXTS_EXAMPLE = `
# texts:
#   de:
#     confirm: ['ja', 'ok', 'ja bitte']
#     decline: ['nein', 'abbrechen']
#     confirm_question: 'Bitte bestätigen: {action}'
#     confirm_how: 'Antworten Sie „{confirm}“ oder „{decline}“.'`.trim();
