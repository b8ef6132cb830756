import { styleText } from 'node:util';
import { RESERVED_CHANNEL_NAMES } from '../../plugins/names.ts';
import { wrapText } from '../daemon/admin/texts.ts';
import { COMMANDS, type CommandExamples, GROUPS } from './command.ts';
import { hang } from './hang.ts';

/** A complaint of a user, and the commands that show its cause. */
interface Complaint {
  words: string;
  commands: readonly string[];
}

/** A subject of `agentd help TOPIC`: what to know first, the commands for it, and the manual pages to read next. */
interface HelpTopic {
  /** As typed. */
  name: string;
  summary: string;
  paragraphs: readonly string[];
  complaints?: readonly Complaint[];
  /** Names or groups of commands. */
  commands: readonly string[];
  /** Manual pages, as in `agentd-deploy(7)`. */
  pages: readonly string[];
}

export const HELP_TOPICS: readonly HelpTopic[] = [
  {
    name: 'start',
    summary: 'Try agentd, then set it up.',
    paragraphs: [
      '`agentd serve --dev` needs no setup: it comes with a sample company, a demo page and a token to paste.',
      '`agentd init` writes a configuration for a service of your own, and says what to do next. The environment overrides .env, and .env overrides agentd.yaml in the working directory.',
    ],
    commands: ['serve', 'init', 'config', 'chat', 'simulate'],
    pages: ['agentd(1)', 'agentd-settings(5)'],
  },
  {
    name: 'operate',
    summary: 'Run the daemon in production: deploy, watch, back up, upgrade.',
    paragraphs: [
      'agentd-deploy(7) describes how to run the package as a service that is monitored and backed up: systemd, containers, Kubernetes, proxies, upgrades.',
      'With ADMIN_LISTEN the daemon answers /live, /ready and /metrics on an address of its own. SIGTERM stops it: running requests finish within SHUTDOWN_GRACE_SECONDS.',
      'Exit codes: 0 done, 1 no (invalid, not found, or failed), 2 wrong usage, 69 the daemon or the store cannot be reached, 78 configuration.',
    ],
    commands: [
      'init',
      'config check',
      'doctor',
      'serve',
      'reload',
      'status',
      'top',
      'logs',
      'backup',
      'restore',
      'audit',
      'version',
    ],
    pages: [
      'agentd-deploy(7)',
      'agentd-store(7)',
      'agentd-metrics(7)',
      'agentd-telemetry(7)',
      'agentd-scaling(7)',
    ],
  },
  {
    name: 'channels',
    summary: 'Connect a website or a chat platform, or write your own channel.',
    paragraphs: [
      'A channel is active if MESSAGING_PLATFORMS names it, or if that is unset and its own settings are set. `agentd channels list` says which channels are active, and why the others are not.',
      '`agentd simulate` writes as a platform would, so that each channel can be tried without an account.',
      'Messages of platforms wait in the inbox until they are answered; `agentd inbox list --failed` shows those that failed.',
    ],
    commands: ['channels', 'simulate', 'inbox', 'guard'],
    pages: [...RESERVED_CHANNEL_NAMES.map((name) => `agentd-${name}(7)`), 'agentd-channel(7)'],
  },
  {
    name: 'identity',
    summary: 'For whom the agent acts: user tokens, links, sealing keys.',
    paragraphs: [
      'A token (JWT) that your site has signed says who a person is. It is validated once per message, and the tools of the agent use it. Nothing fails without a valid token: the tools use the default credentials.',
      'On a chat platform a person links a token to their number or id. Stored tokens are sealed with TOKEN_ENCRYPTION_KEY.',
    ],
    commands: ['token', 'link', 'sessions', 'keys', 'explain'],
    pages: ['agentd-identity(7)', 'agentd-message(7)'],
  },
  {
    name: 'agent',
    summary: 'The model, the tools, the memory, and the journal of actions.',
    paragraphs: [
      'Without AGENT_MODEL the runtime `builtin` answers by simple rules. Tools come from OpenAPI documents, MCP servers and modules, which the configuration file lists under `tools`.',
      'A tool that writes asks the person first, and the journal of actions records the outcome.',
    ],
    commands: ['tools', 'actions', 'memory', 'explain', 'replay', 'eval'],
    pages: ['agentd-agent(7)', 'agentd-api(7)'],
  },
  {
    name: 'support',
    summary: 'Find out why somebody got an answer, or got none.',
    paragraphs: [
      'Find the conversation by the user: `agentd sessions list --user ID`, where ID is the phone number with its plus sign and country code, the id of the user on the platform, or the `user_id` of your site. `agentd explain` with the id of the session says for whom the agent acted, what happened and what to do. `agentd explain --user ID` explains the last messages of the user. Refused messages belong to no session: find them with `--user` or by their request id. If your site gives the widget no `data-user-id`, find the conversations of a person who was signed in with `agentd person show --sub SUB`, where SUB is the `sub` of their tokens.',
      'For one message, give `agentd explain` the request id. A web client finds it in the header X-Request-Id of each answer, and in `request_id` of each error; `agentd logs` shows it, too.',
    ],
    complaints: [
      {
        words: '"The bot showed me somebody else\'s data."',
        commands: ['agentd explain SESSION', 'agentd link list', 'agentd link remove CHANNEL USER'],
      },
      {
        words: '"I got no answer."',
        commands: [
          'agentd explain --user ID',
          'agentd inbox list --failed',
          'agentd inbox show ID',
          'agentd guard list',
          'agentd logs --level warn --since 1d',
        ],
      },
      {
        words: '"The answer was wrong."',
        commands: [
          'agentd feedback list --rating bad',
          'agentd feedback show ID',
          'agentd explain SESSION',
          'agentd replay ID --times 5',
          'agentd eval add ID FILE',
        ],
      },
      {
        words: '"It happened twice."',
        commands: [
          'agentd actions list CHANNEL:USER',
          'agentd actions list --sub SUB',
          'agentd actions list --session SESSION',
        ],
      },
      {
        words: '"It says that I must sign in, but I am signed in."',
        commands: ['agentd explain SESSION', 'agentd token verify -'],
      },
      {
        words: '"I wrote from my phone and got a general answer."',
        commands: ['agentd link list', 'agentd link phone NUMBER -'],
      },
    ],
    commands: [
      ...['sessions', 'explain', 'feedback', 'inbox', 'actions', 'link', 'token verify', 'guard', 'logs'],
      'audit',
    ],
    pages: ['agentd-explain(1)', 'agentd-inbox(1)', 'agentd-identity(7)', 'agentd-errors(7)'],
  },
  {
    name: 'people',
    summary: 'The data that is stored about a person: show it, erase it.',
    paragraphs: [
      '`person`, `memory`, `actions` and `audit` take a person as `--sub SUB`, or a user of a platform as `CHANNEL:ID`. The audit log records what administrators change, and each `agentd person show` and `feedback show`.',
    ],
    commands: ['person', 'memory', 'actions', 'sessions', 'audit'],
    pages: ['agentd-person(1)', 'agentd-store(7)'],
  },
];

/** @returns undefined if no topic has that name. */
export function findTopic(name: string): HelpTopic | undefined {
  return HELP_TOPICS.find((topic) => topic.name === name);
}

const WIDTH = 78;

export function topicHelp({ summary, paragraphs, complaints = [], commands, pages }: HelpTopic): string {
  const entries = COMMANDS.filter(({ name }) =>
    commands.some((wanted) => name === wanted || name.startsWith(`${wanted} `)),
  );
  const widest = Math.max(...entries.map(({ name }) => name.length));
  return [
    `${summary}\n`,
    ...paragraphs.map((text) => `${wrapText(text, WIDTH).join('\n')}\n`),
    ...complaints.map(
      ({ words, commands: lines }) => `${[words, ...lines.map((line) => `  ${line}`)].join('\n')}\n`,
    ),
    `Commands:\n${rowsText(
      entries.map(({ name, summary }) => [name, summary]),
      widest,
    )}`,
    `${manualText(pages.map((page) => page.replace(/\(\d\)$/, '')))}\n`,
  ].join('\n');
}

/** The section of a help text that names the manual pages to read next. */
export function manualText(pages: readonly string[]): string {
  return `Manual:\n${pages.map((page) => `  man ${page}`).join('\n')}`;
}

/** Options that every command has, before or after its name. */
export const COMMON_OPTIONS = [
  {
    flags: '--config <file>',
    sentence: 'configuration file, instead of searching for one',
    values: 'file',
  },
  { flags: '--env-file <file>', sentence: 'file of environment variables, instead of .env', values: 'file' },
] as const;

export const VERSION_OPTION = { flags: '-V, --version', sentence: 'print the version' } as const;
/** Help for `--json`. */
export const JSON_SENTENCE = 'print one JSON document';
export const HELP_OPTION = {
  flags: '-h, --help',
  sentence: 'show help for the program or for a command',
} as const;

/** `agentd help`. It is not in the list of commands, because it shows the help of other commands. */
export const HELP_COMMAND = {
  name: 'help',
  argument: '[topic or command]',
  summary: 'Show the help of the program, of a topic or of a command.',
} as const;

/** The last section of a help text. */
export function examplesText(examples: CommandExamples): string {
  const indent = ' '.repeat(6);
  const lines = Object.entries(examples).map(
    ([line, does]) => `  $ ${line}\n${indent}${wrapText(does, WIDTH - indent.length).join(`\n${indent}`)}`,
  );
  return `Examples:\n${lines.join('\n')}`;
}

/** The commands to try first. */
const EXAMPLES: CommandExamples = {
  'agentd serve --dev': 'Runs the daemon here with nothing set up, to try it out.',
  'agentd chat': 'Talks to it, in a second terminal.',
  'agentd explain SESSION': 'Says why a conversation got its answers, and for whom the agent acted.',
};

/** A help text for a terminal with colors: its headings are bold. */
export function boldHeadings(text: string): string {
  return text.replace(/^\S.*:$(?=\n {2}\S)/gm, (heading) =>
    styleText('bold', heading, { validateStream: false }),
  );
}

/** What people want to do, and the commands for it, by their first words. */
export const INTENTS: Readonly<Record<string, readonly string[]>> = {
  'Try and set up': ['serve', 'init', 'chat', 'simulate', 'config', 'doctor'],
  Operate: [
    ...['status', 'top', 'reload', 'logs', 'channels', 'inbox', 'guard', 'keys', 'backup', 'restore'],
    'audit',
  ],
  'Support people': ['explain', 'sessions', 'link', 'token', 'actions', 'memory', 'person', 'feedback'],
  Build: ['tools', 'replay', 'eval'],
  Other: ['completion', 'version', 'help'],
};

/**
 * The help of the program: each command or group by intent, on one line, and the topics. It is made from the index
 * alone, so it is printed without loading the command-line parser.
 */
export function programHelp(): string {
  const options = [...COMMON_OPTIONS, VERSION_OPTION, HELP_OPTION].map(
    ({ flags, sentence }): Row => [flags, sentence],
  );
  const alone = new Map([...COMMANDS, HELP_COMMAND].map(({ name, summary }) => [name, summary]));
  const row = (word: string): Row => [word, GROUPS[word]?.summary ?? alone.get(word) ?? ''];
  const topics = HELP_TOPICS.map(({ name, summary }): Row => [name, summary]);
  const width = Math.max(...Object.values(INTENTS).flatMap((words) => words.map(({ length }) => length)));
  return [
    'Usage: agentd <command> [options]\n',
    'A conversational agent daemon, and the tools to operate it.\n',
    ...Object.entries(INTENTS).map(([title, words]) => `${title}:\n${rowsText(words.map(row), width)}`),
    `Topics (\`agentd help <topic>\`):\n${rowsText(topics, width)}`,
    `Options:\n${rowsText(options, Math.max(...options.map(([flags]) => flags.length)))}`,
    `${examplesText(EXAMPLES)}\n`,
    'Help for one command or group: `agentd <command> --help`.\n',
  ].join('\n');
}

type Row = readonly [term: string, sentence: string];

/** Terms with their sentences beside them, wrapped at `WIDTH`. */
function rowsText(rows: readonly Row[], width: number): string {
  const layout = { indent: width + 4, width: WIDTH };
  return rows.map(([term, sentence]) => hang(`  ${term}`, sentence, layout)).join('');
}
