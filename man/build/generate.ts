/**
 * The manual pages that are generated from the records of the program: commands, error codes, exit codes, settings.
 * `npm run man` writes them into the folder above, and their list into package.json; test/rules checks that they are up
 * to date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { EXIT, EXIT_MEANINGS } from '../../src/cli/cli-error.ts';
import { COMMANDS, type Command, GROUPS } from '../../src/cli/command.ts';
import { COMMON_OPTIONS, HELP_COMMAND, HELP_TOPICS, JSON_SENTENCE } from '../../src/cli/help.ts';
import { ERRORS } from '../../src/daemon/errors.ts';
import { METRICS } from '../../src/daemon/metrics/metric-list.ts';
import { optionTerm, type PageText, pageLink, pageText, prose, seeAlso, shell, terms } from './markdown.ts';
import { settingsFiles } from './settings-page.ts';

/** The pages made from commands, errors and metrics: file name and content. */
export async function pages(): Promise<Map<string, string>> {
  const commands = await Promise.all(COMMANDS.map((entry) => entry.load()));
  const all = [
    programPage(),
    errorsPage(),
    metricsPage(),
    ...pageNames().map((name) => commandPage(name, of(name, commands))),
  ];
  return new Map(all.map((page) => [`${page.name}.${page.section}.md`, pageText(page)]));
}

/** `serve`, `token`, …: one page per first word. */
function pageNames(): string[] {
  return [...new Set(COMMANDS.map(({ name }) => firstWord(name)))];
}

/** The page that describes a command: `token verify` is described in `agentd-token.1.md`. */
export function pageName(command: string): string {
  return `agentd-${firstWord(command)}.1.md`;
}

function firstWord(name: string): string {
  return name.split(' ')[0] ?? name;
}

function of(page: string, commands: readonly Command[]): Command[] {
  return commands.filter(({ name }) => firstWord(name) === page);
}

function programPage(): PageText {
  return {
    name: 'agentd',
    section: '1',
    summary: 'a conversational agent daemon',
    sections: [
      {
        title: 'Synopsis',
        body: '`agentd` [`--config` *file*] [`--env-file` *file*] *command* [*argument* ...]',
      },
      { title: 'Description', body: DESCRIPTION },
      {
        title: 'Commands',
        body: terms([
          ...COMMANDS.map(({ name, summary }) => ({
            term: `\`${name}\``,
            body: `${prose(summary)} See ${pageLink(`agentd-${firstWord(name)}`, '1')}.`,
          })),
          { term: `\`${HELP_COMMAND.name}\` *topic or command*`, body: prose(HELP_COMMAND.summary) },
        ]),
      },
      {
        title: 'Topics',
        body: [
          '`agentd help` *topic* shows what to know first, the commands, and the pages to read next.',
          terms(HELP_TOPICS.map(({ name, summary }) => ({ term: `\`${name}\``, body: prose(summary) }))),
        ].join('\n\n'),
      },
      {
        title: 'Options',
        body: [
          'Every command accepts these options, before or after its name:',
          terms(
            COMMON_OPTIONS.map(({ flags, sentence }) => ({ term: optionTerm(flags), body: prose(sentence) })),
          ),
          prose(
            'A file that `--env-file` names must exist; otherwise the exit status is 2. When you run the program as `node bin/agentd.js`, write `node -- bin/agentd.js`: without `--`, Node.js takes `--env-file` as its own option and exits with status 9 if the file is missing.',
          ),
        ].join('\n\n'),
      },
      {
        title: 'Environment',
        body: [
          prose('Every setting of agentd-settings(5) can be set in the environment. In addition:'),
          terms([
            {
              term: '`NODE_ENV`',
              body: prose(
                'Under `production` and `staging`, settings and commands that are meant for development are refused.',
              ),
            },
            { term: '`NO_COLOR`', body: 'If set and not empty, output has no colors.' },
          ]),
        ].join('\n\n'),
      },
      { title: 'Files', body: FILES },
      exitStatus(),
      { title: 'See also', body: seeAlso(allPages().filter(([name]) => name !== 'agentd')) },
    ],
  };
}

const DESCRIPTION = [
  'agentd lets people talk to an agent from a website or a chat platform. The tools of the agent act as the person who is signed in there.',
  'Settings come from the environment, `.env` and the configuration file, in this order of precedence; see agentd-settings(5). The commands and the daemon read the same settings.',
  'Commands that administer the daemon read and write its store directly, so they work whether the daemon is running or not. The daemon sees their changes at once.',
  'Data is written to standard output, everything else to standard error. Every command that prints data accepts `--json` and then prints one JSON document; a list is an array. Tables are fitted to the terminal and colored only if standard output is a terminal. A character that would control the terminal, or that nobody would see, is printed as `�`, and in JSON as its number (`\\u200b`).',
  'Where a channel is named, its title in lower case works, too: `slack` for teamchat, `whatsapp` for phonechat, `telegram` for msgbot, `website` for webchat. If a plugin has this word as its name, the word means that plugin. Output for people shows the title beside the name; settings, routes, ids and JSON have the name alone.',
  'Where an id is asked for, its beginning is enough if no other id begins so. If several do, the command names them and exits with 1. An id that is written in full always means itself. On a terminal, tables show the shortest beginning that is unique; JSON has the whole id.',
  'No command prints a full token, except `token issue` and `serve --dev`, which are meant to print one. To identify a token, the other commands show its first 8 characters and a short hash. Commands read a token from standard input (`-`), or from a prompt without echo. You can also give a token as an argument, but then the command warns: other users of the machine can see it in the list of processes.',
]
  .map(prose)
  .join('\n\n');

const FILES = terms([
  {
    term: '`.env`',
    body: 'Settings, one `NAME=value` per line, in the working directory. The environment overrides them.',
  },
  {
    term: '`agentd.yaml`',
    body: prose(
      'The configuration file. agentd-settings(5) lists the other names under which it is found. The list `plugins` can be given only there.',
    ),
  },
  {
    term: '`.agentd/env`',
    body: prose(
      'The settings of `serve --dev`, in the working directory. A command uses them, and says so on standard error, if neither `--config` nor `--env-file` is given, JWT_ALGORITHM is not set anywhere else, and NODE_ENV is neither `production` nor `staging`. Any other source overrides them.',
    ),
  },
  {
    term: '`~/.local/state/agentd`',
    body: prose(
      'The directory of the embedded database, unless STATE_DIR names another directory. agentd-store(7) describes its files.',
    ),
  },
]);

function commandPage(name: string, commands: readonly Command[]): PageText {
  const summary = GROUPS[name]?.summary ?? commands[0]?.summary ?? '';
  const alone = commands.length === 1;
  return {
    name: `agentd-${name}`,
    section: '1',
    summary: summary.replace(/\.$/, '').replace(/^./, (first) => first.toLowerCase()),
    sections: [
      { title: 'Synopsis', body: commands.map(synopsis).join('\n\n') },
      {
        title: 'Description',
        body: commands.map((command) => description(command, alone)).join('\n\n'),
      },
      exitStatus(),
      {
        title: 'Examples',
        body: commands
          .flatMap(({ examples }) =>
            Object.entries(examples).map(([line, does]) => `${prose(does)}\n\n${shell(line)}`),
          )
          .join('\n\n'),
      },
      {
        title: 'See also',
        body: seeAlso([
          ['agentd', '1'],
          ['agentd-settings', '5'],
        ]),
      },
    ],
  };
}

function listOptions({
  options,
  json,
  jsonSentence = JSON_SENTENCE,
}: Command): { flags: string; sentence: string }[] {
  const own = options.map((option) => ({
    flags: option.flags,
    sentence:
      option.default === undefined ? option.sentence : `${option.sentence} (default: ${option.default})`,
  }));
  return json ? [...own, { flags: '--json', sentence: jsonSentence }] : own;
}

function synopsis(command: Command): string {
  return [
    `\`agentd ${command.name}\``,
    ...listOptions(command).map(({ flags }) => `[${optionTerm(flags.replace(/^-\w, /, ''))}]`),
    ...command.args.map(({ name, required, variadic }) => {
      const argument = `*${name}*${variadic ? ' ...' : ''}`;
      return required ? argument : `[${argument}]`;
    }),
  ].join(' ');
}

function description(command: Command, alone: boolean): string {
  const items = [
    ...command.args.map(({ name, sentence }) => ({ term: `**${name}**`, body: prose(sentence) })),
    ...listOptions(command).map(({ flags, sentence }) => ({
      term: optionTerm(flags),
      body: prose(sentence),
    })),
  ];
  return [
    alone ? '' : `### agentd ${command.name}`,
    prose(command.summary),
    command.description ? prose(command.description) : '',
    command.manual ? prose(command.manual) : '',
    terms(items),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function exitStatus() {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  return {
    title: 'Exit status',
    body: terms(names.map((name) => ({ term: `\`${EXIT[name]}\``, body: prose(EXIT_MEANINGS[name]) }))),
  };
}

function errorsPage(): PageText {
  return {
    name: 'agentd-errors',
    section: '7',
    summary: 'error codes of the HTTP interface',
    sections: [
      {
        title: 'Description',
        body: [
          'A request that fails is answered with a problem document (RFC 9457), as agentd-service(7) describes it. Clients test its `code`: codes are stable, and texts may change. A token that cannot be used is not an error: the message is answered with the default credentials.',
          'The codes of commands are in agentd(1), "Exit status".',
        ]
          .map(prose)
          .join('\n\n'),
      },
      {
        title: 'Codes',
        body: terms(
          Object.entries(ERRORS).map(([code, { status, meaning, solve }]) => ({
            term: `\`${code}\` (${status})`,
            body: `${prose(meaning)}\n\nHow to solve: ${prose(solve)}`,
          })),
        ),
      },
      {
        title: 'See also',
        body: seeAlso([
          ['agentd', '1'],
          ['agentd-explain', '1'],
          ['agentd-settings', '5'],
          ['agentd-service', '7'],
        ]),
      },
    ],
  };
}

function metricsPage(): PageText {
  return {
    name: 'agentd-metrics',
    section: '7',
    summary: 'metrics of the daemon',
    sections: [
      {
        title: 'Description',
        body: [
          'With ADMIN_LISTEN set, the daemon answers `GET /metrics` there in the text format of Prometheus. With ADMIN_TOKEN set as well, the request must carry it as the bearer token, or it is answered 401. In addition to the metrics below, there are those of the process (`process_*`, `nodejs_*`).',
          'Names and labels are stable. No label names a person, a session or a message. Each process counts its own events since its start. Only the gauges of the inbox count the whole store, so use their maximum over the replicas.',
          'Durations are histograms in seconds. Traces are exported by OpenTelemetry: see agentd-telemetry(7).',
        ]
          .map(prose)
          .join('\n\n'),
      },
      {
        title: 'Metrics',
        body: terms(
          METRICS.map(({ name, kind, labels, sentence }) => ({
            term: `\`${name}\``,
            body: `${kind === 'histogram' ? 'Histogram' : kind === 'gauge' ? 'Gauge' : 'Counter'}${
              labels.length === 0 ? '' : `, by ${labels.map((label) => `\`${label}\``).join(', ')}`
            }. ${prose(sentence)}`,
          })),
        ),
      },
      { title: 'Dashboard and alerts', body: MONITORING },
      {
        title: 'See also',
        body: seeAlso([
          ['agentd-explain', '1'],
          ['agentd-serve', '1'],
          ['agentd-settings', '5'],
          ['agentd-service', '7'],
          ['agentd-telemetry', '7'],
        ]),
      },
    ],
  };
}

const MONITORING = [
  prose('The package contains both in its folder `config/`.'),
  terms([
    {
      term: '`grafana-dashboard.json`',
      body: prose(
        'A dashboard for Grafana 10 or newer: import it, and choose the Prometheus data source. It shows every metric of this page: traffic, latency, inbox and deliveries, guard and tokens, tools and APIs, model, store, process. Its variables select scrape jobs, instances and channels. It marks starts of processes and, if the same Prometheus evaluates the rules, firing alerts. The data source must know how often Prometheus scrapes (its setting “Scrape interval”, 15 s unless it is set); if it scrapes less often than that, rates are empty.',
      ),
    },
    {
      term: '`alerts.yaml`',
      body: prose(
        'Alert rules for Prometheus; name the file under `rule_files`. The rules that look at the process expect a scrape job whose name contains `agentd`. `severity` is `critical` for problems that people notice, and `warning` for the others. Each description says which command to run. Two rules compare the failures of the last hours and days with an error budget of 1 % over 30 days. The thresholds fit a service with some traffic: with a few messages an hour, a single failure is already a large share.',
      ),
    },
  ]),
  'A scrape configuration for both:',
  [
    '```yaml',
    'scrape_configs:',
    '  - job_name: agentd',
    '    scrape_interval: 15s',
    '    authorization: { credentials_file: /etc/prometheus/agentd-admin-token }',
    '    static_configs:',
    '      - targets: [127.0.0.1:9464]',
    'rule_files: [/etc/prometheus/agentd-alerts.yaml]',
    '```',
  ].join('\n'),
].join('\n\n');

/** All pages: those that have a file, and those of commands whose page has not been written yet. */
function allPages(): [name: string, section: string][] {
  const files = readdirSync(new URL('../', import.meta.url));
  const all = new Set([...files, ...COMMANDS.map(({ name }) => pageName(name))]);
  return [...all].flatMap((file) => {
    const [, name = '', section = ''] = /^([a-z-]+)\.(\d)\.md$/.exec(file) ?? [];
    return name === '' ? [] : [[name, section]];
  });
}

if (import.meta.main) {
  const manual = [...(await pages())].map(([file, content]) => [`man/${file}`, content] as const);
  for (const [file, content] of [...manual, ...(await settingsFiles())])
    writeFileSync(new URL(`../../${file}`, import.meta.url), content);
  listInPackage();
}

/** Lists each page in package.json. npm installs the listed pages for man(1). */
function listInPackage(): void {
  const file = new URL('../../package.json', import.meta.url);
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { man: string[] };
  manifest.man = readdirSync(new URL('../', import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `./dist/man/${name.replace(/\.md$/, '')}`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
