import type { ChannelPlugin, ChannelText, SettingRecord } from '../../channel/index.ts';
import { fileSetting } from '../../channel/setting.ts';
import { wrapText } from '../texts/printable.ts';
import { type TextRecord, textRecords, WORD_CHARACTERS } from '../texts/text-records.ts';
import { SERVER_RECORDS } from './records/server-records.ts';
import { SETTINGS } from './settings.ts';
import { rightForm, show } from './value.ts';

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
export function describeForm(record: SettingRecord): string {
  const parts = [rightForm(record), defaultInWords(record)];
  if (record.secret)
    parts.push(`secret; or ${fileSetting(record.name)}, the path of a file that contains it`);
  return parts.filter((part) => part !== '').join('; ');
}

/** The reference of all settings and texts, for a terminal (`agentd config reference`). */
export function settingsReference(
  groups: readonly SettingGroup[],
  texts: readonly ChannelText[] = [],
): string {
  const settings = groups.map(({ title, records }) =>
    [`${title}\n`, ...records.map((record) => settingReference(record))].join('\n'),
  );
  return [...settings, textsReference(texts)].join('\n\n').concat('\n');
}

/** The reference of one setting. @param width longest line */
export function settingReference(record: SettingRecord, width = Number.POSITIVE_INFINITY): string {
  const lines = [record.sentence, `${capital(describeForm(record))}.`];
  if (record.example !== undefined) lines.push(`Example: ${record.name}=${record.example}`);
  const wrapped = lines.flatMap((line) => wrapText(line, width - 4));
  return `${[record.name, ...wrapped.map((line) => `    ${line}`)].join('\n')}\n`;
}

function defaultInWords(record: SettingRecord): string {
  if (record.required) return 'required';
  if (record.default === undefined) return 'unset by default';
  const text = show({}, record.default);
  return text === '' ? 'empty by default' : `default ${text}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** The texts with their defaults, for a terminal (`agentd config reference`). */
function textsReference(own: readonly ChannelText[]): string {
  const entries = Object.entries(textRecords(own)).map(
    ([name, record]) =>
      `texts.LANGUAGE.${name}\n    ${record.sentence}\n    Default ${formatDefault(record)}.\n`,
  );
  return ['Texts\n', ...entries].join('\n');
}

/** The default as JSON, which is also YAML. */
export function formatDefault({ default: text }: TextRecord): string {
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
    propertyNames: { pattern: SERVER_RECORDS.DEFAULT_LOCALE.pattern.source },
    additionalProperties: {
      type: 'object',
      properties: Object.fromEntries(records.map(([name, record]) => [name, toSchema(record)])),
      additionalProperties: false,
    },
  };
}

function toSchema(record: TextRecord): JsonSchema {
  const about = { description: record.sentence, default: record.default };
  const word = { type: 'string', minLength: 1, maxLength: WORD_CHARACTERS };
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
const TEXTS_EXAMPLE = `
# texts:
#   de:
#     confirm: ['ja', 'ok', 'ja bitte']
#     decline: ['nein', 'abbrechen']
#     confirm_question: 'Bitte bestätigen: {action}'
#     confirm_how: 'Antworten Sie „{confirm}“ oder „{decline}“.'`.trim();

/** Width of comments, in characters. */
const WIDTH = 100;

const HEAD = [
  'Configuration of agentd: every setting, at its default. Remove the # from a line to change it.',
  'The program reads agentd.yaml in its working directory, or the file of --config FILE.',
  'Each setting can also be set in the environment or in .env, under the same name; the environment has priority.',
  'Keep secrets in the environment or in .env. `agentd config check` lists mistakes, `agentd config show` shows the effective values.',
];

const PLUGINS = [
  'Channels in addition to the bundled ones: paths relative to this file, or names of installed packages.',
  'An entry may also be { path: ./channels/telex.ts, name: telex }, which checks the name.',
];

const TOOLS = [
  'Sources of tools: APIs with an OpenAPI document, MCP servers, and modules of your own; see agentd-agent(7).',
];

const TOOLS_EXAMPLE = `
# tools:
#   - openapi: ./shop.openapi.yaml
#     name: shop
#     operations:
#       listOrders: { bind: { customer: sub } }
#       getProduct: { public: all }
#       cancelOrder: { summary: 'Cancel order {id}', idempotency_header: Idempotency-Key }
#   - mcp: https://docs.example.com/mcp
#     name: docs
#     secrets: [SHOP_DOCS_KEY]
#     headers: { X-Api-Key: '\${SHOP_DOCS_KEY}' }
#     tools: { search: { effect: read } }
#   - module: ./tools/refund.ts`.trim();

const AGENTS = [
  'Several agents: each message is answered by the first one that fits, and the last one fits always; see agentd-agent(7).',
];

const AGENTS_EXAMPLE = `
# agents:
#   - name: german
#     instructions: ./prompts/german.md
#     when: { locale: de }
#   - name: next
#     model: anthropic:claude-sonnet-5
#     canary: { percent: 10 }
#   - name: default
#     tools: [get_user, shop_listOrders, shop_cancelOrder]`.trim();

const TEXTS = ['Texts that people see, by language and name; `agentd config reference` lists them.'];

/**
 * The example configuration file (`config/agentd.example.yaml`): YAML in which every line is a comment.
 * @param values settings that the file sets, including `NAME_FILE` of a secret; their lines are not comments.
 */
export function exampleFile(
  groups: readonly SettingGroup[],
  values: ReadonlyMap<string, unknown> = new Map(),
): string {
  const sections = groups.map(({ title, records }) =>
    [`# ---- ${title} ----`, ...records.map((record) => exampleEntry(record, values).join('\n'))].join(
      '\n\n',
    ),
  );
  const plugins = ['# ---- Plugins ----', '', ...comment(PLUGINS), '# plugins: []'].join('\n');
  const tools = ['# ---- Tools ----', '', ...comment(TOOLS), TOOLS_EXAMPLE].join('\n');
  const agents = ['# ---- Agents ----', '', ...comment(AGENTS), AGENTS_EXAMPLE].join('\n');
  const texts = ['# ---- Texts ----', '', ...comment(TEXTS), TEXTS_EXAMPLE].join('\n');
  return `${[comment(HEAD).join('\n'), ...sections, plugins, tools, agents, texts].join('\n\n')}\n`;
}

function exampleEntry(record: SettingRecord, values: ReadonlyMap<string, unknown>): string[] {
  const example = record.example === undefined ? [] : [`Example: ${yaml(exampleValue(record))}`];
  const set = [record.name, fileSetting(record.name)].find((name) => values.has(name));
  return [
    ...comment([record.sentence, `(${describeForm(record)})`, ...example]),
    set === undefined
      ? `# ${record.name}:${record.default === undefined ? '' : ` ${yaml(record.default)}`}`
      : `${set}: ${yaml(values.get(set))}`,
  ];
}

function exampleValue({ kind, example = '' }: SettingRecord): unknown {
  if (kind === 'list') return example.split(',');
  return kind === 'integer' || kind === 'number' ? Number(example) : example;
}

/** Writes a value as YAML: a plain word without quotes, and any other value as JSON, which is also YAML. */
function yaml(value: unknown): string {
  return typeof value === 'string' && /^[A-Za-z/~][\w./~-]*$/.test(value) && !RESERVED.test(value)
    ? value
    : JSON.stringify(value);
}

/** Words that some versions of YAML do not read as strings. */
const RESERVED = /^(?:true|false|yes|no|on|off|null|~)$/i;

/** `##` distinguishes a comment from a setting that is commented out. */
function comment(paragraphs: readonly string[]): string[] {
  return paragraphs.flatMap((paragraph) => wrapText(paragraph, WIDTH).map((line) => `## ${line}`));
}
