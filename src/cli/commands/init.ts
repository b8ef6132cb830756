import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { SettingRecord } from '../../channel/index.ts';
import { printable } from '../../daemon/printable.ts';
import { askTerminal } from '../ask-terminal.ts';
import { failed, usageError } from '../cli-error.ts';
import type { Command, OptionValues } from '../command.ts';
import { EXIT } from '../exit-codes.ts';

/** One of the five questions, and the option that answers it. */
interface Question {
  option: string;
  question: string;
  default: string;
}

const QUESTIONS = [
  { option: 'name', question: 'Name of your service, which the agent speaks for', default: 'agentd' },
  { option: 'channels', question: 'Channels, separated by commas; empty: those of a website', default: '' },
  {
    option: 'origins',
    question: 'Origins of the pages with the widget, separated by commas (https://www.example.com)',
    default: '',
  },
  { option: 'api', question: 'Address of the business API; empty: none', default: '' },
  {
    option: 'model',
    question: 'Language model, `provider:model` or a name at the server of AGENT_BASE_URL; empty: none',
    default: '',
  },
] as const satisfies readonly Question[];

type Answers = Record<(typeof QUESTIONS)[number]['option'], string>;

/** Secrets that nobody else has to give. 256 bits each. */
const GENERATED = ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN'] as const;
/** Secrets of channels that the operator makes up and tells the platform. */
const MADE_UP = /_(?:VERIFY_TOKEN|WEBHOOK_SECRET)$/;

const CONFIG = 'agentd.yaml';
const ENV = '.env';

export const command: Command = {
  name: 'init',
  summary: 'Write a configuration and an env file with generated secrets.',
  ignoresDev: true,
  description:
    'Writes agentd.yaml, in which every setting stands with its explanation, and .env (mode 0600) with secrets of 256 bits. On a terminal it asks five questions; an option answers its question beforehand, and --yes takes the defaults of the others, as does a run without a terminal. What only a platform or a provider can give stands in .env as a comment. Files that exist are not changed: then nothing is written, and the exit code is 1.',
  options: [
    ...QUESTIONS.map((one) => ({
      flags: `--${one.option} <value>`,
      sentence: `${one.question}${one.default === '' ? '' : ` (default: ${one.default})`}`,
    })),
    {
      flags: '--directory <directory>',
      sentence: 'target directory; default: the working directory',
      values: 'directory',
    },
    { flags: '-y, --yes', sentence: 'ask nothing' },
  ],
  examples: [
    { line: 'agentd init', does: 'Asks, and writes both files into the working directory.' },
    {
      line: 'agentd init --yes --name Shop --origins https://www.example.com --directory .',
      does: 'Writes them without a question.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const directory = resolve(typeof options.directory === 'string' ? options.directory : '.');
    const { loadPlugins } = await import('../../daemon/plugin/load.ts');
    const { settingGroups } = await import('../../daemon/settings/reference.ts');
    const { exampleFile } = await import('../../daemon/settings/example-file.ts');
    const loaded = await loadPlugins({ entries: [], platforms: null, folders: [] });
    const plugins = loaded.plugins.map(({ plugin }) => plugin);
    const answers = await answersTo(options);
    const channels =
      answers.channels === ''
        ? plugins.filter(({ capabilities }) => capabilities.delivery !== 'push').map(({ name }) => name)
        : listOf(answers.channels);
    const unknown = channels.find((name) => !plugins.some((plugin) => plugin.name === name));
    if (unknown !== undefined) {
      const known = plugins.map(({ name }) => name).join(', ');
      throw usageError(`there is no channel '${printable(unknown)}'`, `The channels are ${known}.`);
    }
    const groups = settingGroups(plugins);
    const settings = groups.flatMap(({ records }) => records);
    const needed = settings
      .filter(
        ({ name, secret }) =>
          secret && channels.some((channel) => name.startsWith(`${channel.toUpperCase()}_`)),
      )
      .map(({ name }) => name);
    const files = [
      { name: CONFIG, text: exampleFile(groups, valuesOf(answers, channels, settings)), mode: 0o644 },
      { name: ENV, text: envFile(answers, needed), mode: 0o600 },
    ];
    await writeAll(directory, files);
    const paths = files.map(({ name }) => join(directory, name));
    out.data({ files: paths }, () =>
      [
        ...paths.map((path) => `wrote ${printable(path)}`),
        'check it: agentd config check && agentd doctor',
        'run it:   agentd serve',
      ].join('\n'),
    );
    return EXIT.ok;
  },
};

async function answersTo(options: OptionValues): Promise<Answers> {
  const asks = options.yes !== true && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const answers: Partial<Answers> = {};
  for (const one of QUESTIONS) {
    const given = options[one.option];
    if (typeof given === 'string') answers[one.option] = given.trim();
    else answers[one.option] = asks ? await ask(one) : one.default;
  }
  return answers as Answers;
}

async function ask({ question, default: otherwise }: Question): Promise<string> {
  const shown = otherwise === '' ? question : `${question} [${otherwise}]`;
  const answer = await askTerminal(`${shown}: `, process.stdin, process.stderr);
  if (answer === null) throw failed('nothing was written: the questions were not answered');
  return answer.trim() === '' ? otherwise : answer.trim();
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

function valuesOf(
  { name, origins, api, model }: Answers,
  channels: readonly string[],
  settings: readonly SettingRecord[],
): Map<string, unknown> {
  const values = new Map<string, unknown>([
    ['MESSAGING_PLATFORMS', channels],
    ['JWT_ALGORITHM', 'HS256'],
    ['ADMIN_LISTEN', '127.0.0.1:9464'],
  ]);
  if (name !== 'agentd') values.set('APP_NAME', name);
  const switches = channels.map((channel) => `${channel.toUpperCase()}_ENABLED`);
  for (const { name: known } of settings) if (switches.includes(known)) values.set(known, true);
  if (origins !== '') values.set('WEBCHAT_ALLOWED_ORIGINS', listOf(origins));
  if (api !== '') values.set('API_BASE_URL', api);
  if (model !== '') values.set('AGENT_MODEL', model);
  return values;
}

function envFile({ api, model }: Answers, needed: readonly string[]): string {
  const generated = [...GENERATED, ...needed.filter((name) => MADE_UP.test(name))];
  const wanted = [
    ...needed.filter((name) => !generated.includes(name)),
    ...(api === '' ? [] : ['API_EMAIL', 'API_PASSWORD']),
    ...(model === '' ? [] : ['AGENT_API_KEY']),
  ];
  return [
    '# Secrets of agentd. Keep this file to yourself: whoever reads it can speak as anybody.',
    '# JWT_SECRET_KEY is shared with the site that signs the tokens of its users.',
    ...generated.map(
      (name) =>
        `${name}=${randomBytes(32).toString(name === 'TOKEN_ENCRYPTION_KEY' ? 'base64' : 'base64url')}`,
    ),
    ...(wanted.length === 0 ? [] : ['', '# What only the platform or the provider can give you:']),
    ...wanted.map((name) => `# ${name}=`),
    '',
  ].join('\n');
}

/** All or none. A file that exists is not overwritten, also if it appeared a moment ago. */
async function writeAll(
  directory: string,
  files: readonly { name: string; text: string; mode: number }[],
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const written: string[] = [];
  try {
    for (const { name, text, mode } of files) {
      const path = join(directory, name);
      await writeFile(path, text, { flag: 'wx', mode });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw failed(
      `${printable((error as NodeJS.ErrnoException).path ?? directory)} exists; nothing was written`,
      'Name another directory with --directory.',
    );
  }
}
