/**
 * The two files that are generated from the records of the settings: agentd-settings(5) and the example configuration.
 * `npm run man` writes them; test/unit/settings/reference.test.ts checks that they are up to date.
 */
import type { ChannelText, SettingRecord } from '../../src/channel/index.ts';
import { loadPlugins } from '../../src/daemon/channels/load.ts';
import {
  describeForm,
  exampleFile,
  formatDefault,
  type SettingGroup,
  settingGroups,
} from '../../src/daemon/settings/reference.ts';
import { textRecords } from '../../src/daemon/texts/text-records.ts';
import { type PageText, pageText, prose, seeAlso, terms } from './markdown.ts';

/** Path from the root of the repository → content, for the daemon and the bundled channels. */
export async function settingsFiles(): Promise<Map<string, string>> {
  const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
  const groups = settingGroups(plugins.map(({ plugin }) => plugin));
  const texts = plugins.flatMap(({ plugin }) => plugin.texts ?? []);
  return new Map([
    ['man/agentd-settings.5.md', pageText(settingsPage(groups, texts))],
    ['config/agentd.example.yaml', exampleFile(groups)],
  ]);
}

/** agentd-settings(5), from the records of the settings. */
export function settingsPage(groups: readonly SettingGroup[], texts: readonly ChannelText[]): PageText {
  return {
    name: 'agentd-settings',
    section: '5',
    summary: 'settings of agentd',
    sections: [
      { title: 'Description', body: DESCRIPTION },
      {
        title: 'Settings',
        body: groups.map(({ title, records }) => `### ${title}\n\n${terms(records.map(item))}`).join('\n\n'),
      },
      { title: 'Plugins', body: PLUGINS },
      { title: 'Tools', body: TOOLS },
      { title: 'Agents', body: AGENTS },
      { title: 'Texts', body: textsBody(texts) },
      { title: 'Files', body: FILES },
      { title: 'Examples', body: EXAMPLES },
      {
        title: 'See also',
        body: seeAlso([
          ['agentd', '1'],
          ['agentd-config', '1'],
          ['agentd-channel', '7'],
          ['agentd-service', '7'],
        ]),
      },
    ],
  };
}

const DESCRIPTION = [
  'A setting has the same name in the environment, in `.env`, and in the configuration file. The environment overrides `.env`, and `.env` overrides the file. An empty value counts as not set. `agentd config check` reports all problems at once: for each one the setting, what is wrong, where the value came from, and what would be right. The exit status is then 78. The daemon does not start with such settings, and exits with 78, too.',
  'In the configuration file, numbers, booleans and lists may be native values; a list may also be one string with commas, as in the environment. Quote a string that looks like a number or a boolean. Relative paths are relative to the working directory. STATE_DIR and LOG_FILE may begin with a tilde. Under systemd the default of STATE_DIR is STATE_DIRECTORY. Output shows secrets as `[secret]`.',
  'Every secret can also be given as a file, as container platforms and systemd provide them: the setting `NAME_FILE` contains the path of the file for the secret `NAME`. The content of the file, without one trailing line break, is the value. In the configuration file such a path is relative to that file. It is an error if one source sets both the secret and its `_FILE` setting, or if the file cannot be read. The daemon warns if `.env` or the configuration file contains a secret and other users of the machine can read it.',
  'An unknown name in the configuration file is an error. In the environment, which also holds variables of other programs, an unknown name is an error only if it looks like a misspelled setting.',
  'A running daemon reads its configuration again with `agentd reload`, after the signal SIGHUP, and with AGENT_WATCH=true when a file changes; see agentd-reload(1). It takes over the texts, the tools, and the settings of which this page says so. Other settings need a restart.',
  'NODE_ENV is read from the environment and from `.env`. Under `production` and `staging`, settings that are meant for development are refused. JWT_VERIFY_SIGNATURE=false and JWT_VERIFY_EXP=false need NODE_ENV=development or NODE_ENV=test, or `agentd serve --dev`; the daemon warns at each start.',
]
  .map(prose)
  .join('\n\n');

const PLUGINS = [
  'The key `plugins` of the configuration file lists channels in addition to the bundled ones. An entry is one of these: the path of a module or of its folder, relative to the file (it begins with a dot, a slash or a tilde, or ends with the extension of a module); the name of an installed package; or an object with `path` and, optionally, the `name` that the channel must have.',
  'A name in MESSAGING_PLATFORMS is looked up in this list, then among the bundled channels, then as the installed package `agentd-channel-NAME`, then as the title of a channel in lower case, such as `slack`. MESSAGING_PLATFORMS may also contain the path of a module. A local module may be written in TypeScript; an installed package may not. If a plugin does not fit the contract, the daemon does not start. See agentd-channel(7).',
]
  .map(prose)
  .join('\n\n');

const TOOLS = [
  prose(
    'The key `tools` of the configuration file lists the sources of tools. Each entry has exactly one of the keys `openapi`, `mcp`, `command` and `module`; agentd-agent(7) says what the tools do, and what the other keys mean. A problem is reported with its entry (`tools[0]`), its key and its line. Unknown keys are problems. OpenAPI documents are read, and servers are contacted, after the entries have been checked. An invalid document is a problem of the configuration, too.',
  ),
  terms([
    {
      term: '`openapi`, `name`, `operations`',
      body: prose(
        'An API with an OpenAPI document; `openapi` is the path of the document, relative to the configuration file. Optional: `base_url` (default API_BASE_URL), `credentials`, `credential`, `exchange`, `headers`, `secrets`. An operation may have `as`, `effect`, `credentials`, `confirm`, `confirm_label`, `summary`, `public`, `bind`, `hide`, `idempotent`, `idempotency_header` and `parameters`.',
      ),
    },
    {
      term: '`mcp`, `name`, `tools`',
      body: prose(
        'An MCP server with an address. Optional: `credentials`, `credential`, `list_credentials`, `exchange`, `headers`, `secrets`, `timeout_seconds`. A tool may have `as`, `effect`, `credentials`, `confirm`, `confirm_label`, `summary`, `public`, `bind`, `hide` and `idempotent`.',
      ),
    },
    {
      term: '`command`, `name`, `tools`',
      body: prose(
        'An MCP server that agentd starts: a list of the program and its arguments. Optional: `env`, `secrets`, `timeout_seconds`. It gets no credentials, so `credentials` may only be `none`. A tool may have the same keys as one of `mcp`.',
      ),
    },
    {
      term: '`module`',
      body: prose(
        'A module of your own: a path relative to the configuration file, or a package. Optional: `credential`.',
      ),
    },
  ]),
  prose(
    'A source at the origin of API_BASE_URL may use every kind of credentials. A source at another origin uses none, unless its entry says `credentials: user` (https or a loopback address only) or `exchange`, or has fixed headers; `default` and `user-or-default` are refused there. A fixed `Authorization` header is refused for a source that uses credentials.',
  ),
  prose(
    'Headers, `client_secret` and `env` may refer to secrets as `\u0024{NAME}`. The entry lists these names under `secrets`. Such a secret comes from the environment, from `.env`, or from the file whose path `NAME_FILE` contains. The configuration file itself must not contain the secret. It is a problem if a listed secret is not set. `agentd config show` lists each secret as `[secret]`.',
  ),
].join('\n\n');

const AGENTS = [
  prose(
    'The key `agents` of the configuration file lists several agents. Each message is answered by the first one that fits; the last one must fit always, so it has neither `when` nor `canary`. Without the key there is one agent, `default`. agentd-agent(7) says what the agents share.',
  ),
  terms([
    { term: '`name`', body: prose('Name of the agent, in traces and metrics. Required.') },
    {
      term: '`instructions`',
      body: prose(
        'Text, or the path of a text file, relative to the configuration file. Default: AGENT_INSTRUCTIONS.',
      ),
    },
    {
      term: '`tools`',
      body: prose(
        'Names of its tools, built-in ones included. A tool that is not listed does not exist for the agent. Default: all tools.',
      ),
    },
    {
      term: '`model`',
      body: prose(
        'As in AGENT_MODEL, which is the default; or `builtin`. The key AGENT_API_KEY is not sent to another provider than that of AGENT_MODEL: such a provider takes its key from its own variable.',
      ),
    },
    {
      term: '`memory`',
      body: prose('`false`: the agent is given no memories, and has no tools of memory. Default: `true`.'),
    },
    {
      term: '`when`',
      body: prose(
        'Which messages it answers: `channel` (names), `tenant_id` (of the valid token of the person), `workspace` (id of the workspace of the sender, as the platform sends it), `locale` (languages; `de` also fits `de-AT`). Each is a text or a list of texts; all keys that are present must fit.',
      ),
    },
    {
      term: '`canary`',
      body: prose(
        '`percent`, from 0 to 100: the share of persons whom it answers, among those whose messages fit. A person always belongs to the same share.',
      ),
    },
  ]),
].join('\n\n');

const textsBody = (own: readonly ChannelText[]) =>
  [
    prose(
      'The key `texts` of the configuration file replaces texts that people see and that the agent did not write. Its keys are languages (`de`, `pt-BR`), and under each language the names of texts. A text is Markdown; a button is plain text of at most 20 characters. A replacement must contain every placeholder of the default, and no other. An unknown name, a wrong placeholder, and a word that both confirms and declines are problems of the configuration. Quote words such as `yes` and `no`, which YAML may read as booleans. The package has German and Spanish texts to copy, in `config/texts.de.yaml` and `config/texts.es.yaml`.',
    ),
    prose(
      'The language is the claim `locale` of the person\u2019s token; without it, the language that the platform or the browser sends; without that, DEFAULT_LOCALE. A language without texts is skipped. A text is looked up under the whole tag (`de-AT`), then under its language (`de`), then under DEFAULT_LOCALE, and then among the English defaults.',
    ),
    prose(
      'Answers are compared with the words of the person\u2019s language, without regard to white space at the ends, case and final punctuation; a question of several words, such as “only 1?”, is no answer. The question names the first word of each list.',
    ),
    terms(
      Object.entries(textRecords(own)).map(([name, record]) => ({
        term: `\`${name}\``,
        body: `${prose(record.sentence)}\n\n${prose(`Default: ${formatDefault(record)}.`)}`,
      })),
    ),
  ].join('\n\n');

const FILES = terms([
  {
    term: '`.env`',
    body: prose(
      'Lines of the form `NAME=value`, in the working directory, or the file that `--env-file` names.',
    ),
  },
  {
    term: '`agentd.yaml`, `agentd.yml`, `agentd.json`',
    body: prose(
      'The configuration file, in the working directory, or the file that `--config` names. It is also found under the name `agentd.config` with one of these endings, `.js` or `.ts`, as `.agentdrc` with or without an extension, there or in `.config`, and under the key `agentd` in `package.json`.',
    ),
  },
  {
    term: '`STATE_DIR/encryption-key`',
    body: prose(
      'The generated key that seals stored tokens; see agentd-store(7). Back it up too, but in a different place from the database.',
    ),
  },
]);

const EXAMPLES = `\`\`\`yaml
JWT_ALGORITHM: HS256
PORT: 8080
WEBCHAT_ENABLED: true
WEBCHAT_ALLOWED_ORIGINS:
  - https://www.example.com
plugins:
  - ./channels/telex.ts
tools:
  - openapi: ./shop.openapi.yaml
    name: shop
    operations:
      listOrders: { bind: { customer: sub } }
      cancelOrder: { summary: 'Cancel order {id}', idempotency_header: Idempotency-Key }
  - mcp: https://docs.example.com/mcp
    name: docs
    secrets: [SHOP_DOCS_KEY]
    headers: { X-Api-Key: '\${SHOP_DOCS_KEY}' }
    tools: { search: { effect: read } }
  - module: ./tools/refund.ts
agents:
  - name: german
    instructions: ./prompts/german.md
    when: { locale: de }
  - name: default
texts:
  de:
    confirm: ['ja', 'ok', 'ja bitte']
    decline: ['nein', 'abbrechen']
\`\`\``;

function item(record: SettingRecord): { term: string; body: string } {
  const form = `${describeForm(record).replace(/^./, (first) => first.toUpperCase())}.`;
  const example = record.example === undefined ? '' : ` Example: \`${record.example}\`.`;
  const reload = 'reload' in record && record.reload === true ? ' A reload takes it over.' : '';
  return {
    term: `\`${record.name}\``,
    body: `${prose(record.sentence)}\n\n${prose(form)}${example}${reload}`,
  };
}
