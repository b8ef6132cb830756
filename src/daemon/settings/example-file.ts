import type { SettingRecord } from '../../channel/index.ts';
import { fileSettingOf } from './file-setting.ts';
import { formOf, type SettingGroup } from './reference.ts';
import { TEXTS_EXAMPLE } from './texts-reference.ts';

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
    [`# ---- ${title} ----`, ...records.map((record) => entry(record, values).join('\n'))].join('\n\n'),
  );
  const plugins = ['# ---- Plugins ----', '', ...comment(PLUGINS), '# plugins: []'].join('\n');
  const tools = ['# ---- Tools ----', '', ...comment(TOOLS), TOOLS_EXAMPLE].join('\n');
  const texts = ['# ---- Texts ----', '', ...comment(TEXTS), TEXTS_EXAMPLE].join('\n');
  return `${[comment(HEAD).join('\n'), ...sections, plugins, tools, texts].join('\n\n')}\n`;
}

function entry(record: SettingRecord, values: ReadonlyMap<string, unknown>): string[] {
  const example = record.example === undefined ? [] : [`Example: ${yaml(exampleValue(record))}`];
  const set = [record.name, fileSettingOf(record.name)].find((name) => values.has(name));
  return [
    ...comment([record.sentence, `(${formOf(record)})`, ...example]),
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
  return paragraphs.flatMap((paragraph) => wrap(paragraph).map((line) => `## ${line}`));
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
