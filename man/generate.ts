/**
 * The manual pages, from the records that the program itself is made of: commands, error codes, exit codes.
 * `npm run man` writes them beside this file; test/rules holds them fresh.
 */
import { writeFileSync } from 'node:fs';
import type { Command } from '../src/cli/command.ts';
import { COMMANDS, GROUPS } from '../src/cli/command-index.ts';
import { EXIT, EXIT_MEANINGS } from '../src/cli/exit-codes.ts';
import { COMMON_OPTIONS, JSON_SENTENCE } from '../src/cli/program-help.ts';
import { ERRORS } from '../src/daemon/errors.ts';
import { example, list, optionTerm, type Page, prose, render, text } from './mdoc.ts';
import { settingsFiles } from './settings-page.ts';

/** Pages of other sections that `agentd` refers to. */
const OTHER_PAGES = [
  ['agentd-settings', '5'],
  ['agentd-api', '7'],
  ['agentd-channel', '7'],
  ['agentd-design', '7'],
  ['agentd-errors', '7'],
  ['agentd-message', '7'],
  ['agentd-msgbot', '7'],
  ['agentd-phonechat', '7'],
  ['agentd-sse', '7'],
  ['agentd-teamchat', '7'],
  ['agentd-webchat', '7'],
] as const;

/** All generated pages: file name and content. */
export async function pages(): Promise<Map<string, string>> {
  const commands = await Promise.all(COMMANDS.map((entry) => entry.load()));
  const all = [
    programPage(),
    errorsPage(),
    ...pageNames().map((name) => commandPage(name, of(name, commands))),
  ];
  return new Map(all.map((page) => [`${page.name}.${page.section}`, render(page)]));
}

/** `serve`, `token`, …: one page per first word. */
function pageNames(): string[] {
  return [...new Set(COMMANDS.map(({ name }) => firstWord(name)))];
}

/** The page that describes a command: `token verify` stands in `agentd-token.1`. */
export function pageOf(command: string): string {
  return `agentd-${firstWord(command)}.1`;
}

function firstWord(name: string): string {
  return name.split(' ')[0] ?? name;
}

function of(page: string, commands: readonly Command[]): Command[] {
  return commands.filter(({ name }) => firstWord(name) === page);
}

function programPage(): Page {
  return {
    name: 'agentd',
    section: '1',
    summary: 'a conversational agent daemon',
    sections: [
      {
        title: 'SYNOPSIS',
        body: '.Nm\n.Op Fl -config Ar file\n.Op Fl -env-file Ar file\n.Ar command\n.Op Ar argument ...',
      },
      {
        title: 'DESCRIPTION',
        body: [
          '.Nm',
          'lets people talk to an agent from a website or a chat platform;',
          'its tools act as the person who is signed in there.',
          '.Pp',
          prose(
            'Data goes to standard output, everything else to standard error. Tables are cut and coloured for a terminal only. No command prints a full token but `token issue` and `serve --dev`, whose job it is.',
          ),
          '.Pp',
          'The commands are:',
          list(
            COMMANDS.map(({ name, summary }) => ({
              term: `Ic ${name}`,
              body: `${prose(summary)}\nSee\n.Xr agentd-${firstWord(name)} 1 .`,
            })),
          ),
          '.Pp',
          'The options common to all:',
          list(
            COMMON_OPTIONS.map(({ flags, sentence }) => ({ term: optionTerm(flags), body: prose(sentence) })),
          ),
          '.Pp',
          prose(
            'A file that `--env-file` names must exist (exit status 2). Run as `node bin/agentd.js`, put `--` before the path of the program: otherwise Node.js itself looks for the file, and ends with 9 if there is none.',
          ),
        ].join('\n'),
      },
      {
        title: 'ENVIRONMENT',
        body: [
          'Every setting of',
          '.Xr agentd-settings 5',
          'may stand in the environment.',
          'Besides:',
          list([
            {
              term: 'Ev NODE_ENV',
              body: prose('Under `production` what is meant for development is refused.'),
            },
            { term: 'Ev NO_COLOR', body: 'Not empty, nothing is coloured.' },
          ]),
        ].join('\n'),
      },
      {
        title: 'FILES',
        body: list([
          { term: 'Pa .env', body: 'Settings of the working directory; the environment wins.' },
          {
            term: 'Pa agentd.yaml',
            body: prose(
              'The configuration file; agentd-settings(5) has the other names that it is found by. It is the only place for what is structured.',
            ),
          },
          {
            term: 'Pa .agentd/env',
            body: prose(
              'The settings of `serve --dev` in the working directory. A command uses them, and says so on standard error, if neither `--config` nor `--env-file` is given, JWT_ALGORITHM is set nowhere else, and NODE_ENV is not `production` or `staging`; other settings win over them.',
            ),
          },
          {
            term: 'Pa ~/.local/state/agentd',
            body: prose('The directory of the embedded database, unless STATE_DIR names another.'),
          },
          {
            term: 'Pa agentd.db',
            body: prose(
              'In that directory: the database, with agentd.db-wal and agentd.db-shm while it is in use.',
            ),
          },
          {
            term: 'Pa agentd.lock',
            body: prose('In that directory: held by the daemon that uses it.'),
          },
          {
            term: 'Pa agentd.reserve',
            body: prose(
              'In that directory: 16 MiB that the daemon gives up when the disk is full: three quarters to store the answers of accepted messages, the rest to delete expired rows. It makes the file again when there is room.',
            ),
          },
          {
            term: 'Pa agentd.db.schema-9.backup',
            body: prose(
              'In that directory: a copy of the database, made before a new version changed its schema (here from schema 9); deleted after 7 days. To return to the earlier version, stop the daemon, delete agentd.db, agentd.db-wal and agentd.db-shm, and rename the copy to agentd.db.',
            ),
          },
        ]),
      },
      exitStatus(),
      {
        title: 'SEE ALSO',
        body: seeAlso([...pageNames().map((name) => [`agentd-${name}`, '1'] as const), ...OTHER_PAGES]),
      },
    ],
  };
}

function commandPage(name: string, commands: readonly Command[]): Page {
  const summary = GROUPS[name] ?? commands[0]?.summary ?? '';
  const alone = commands.length === 1;
  return {
    name: `agentd-${name}`,
    section: '1',
    summary: summary.replace(/\.$/, '').replace(/^./, (first) => first.toLowerCase()),
    sections: [
      { title: 'SYNOPSIS', body: commands.map(synopsis).join('\n') },
      { title: 'DESCRIPTION', body: commands.map((command) => description(command, alone)).join('\n') },
      exitStatus(),
      { title: 'EXAMPLES', body: commands.flatMap(({ examples }) => examples.map(example)).join('\n.Pp\n') },
      {
        title: 'SEE ALSO',
        body: seeAlso([
          ['agentd', '1'],
          ['agentd-settings', '5'],
        ]),
      },
    ],
  };
}

function optionsOf({
  options = [],
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
    '.Nm agentd',
    `.Cm ${command.name}`,
    ...optionsOf(command).map(({ flags }) => `.Op ${optionTerm(flags.replace(/^-\w, /, ''))}`),
    ...(command.args ?? []).map(({ name, required, variadic }) => {
      const argument = `Ar ${name}${variadic ? ' ...' : ''}`;
      return required ? `.${argument}` : `.Op ${argument}`;
    }),
  ].join('\n');
}

function description(command: Command, alone: boolean): string {
  const items = [
    ...(command.args ?? []).map(({ name, sentence }) => ({ term: `Ar ${name}`, body: prose(sentence) })),
    ...optionsOf(command).map(({ flags, sentence }) => ({ term: optionTerm(flags), body: prose(sentence) })),
  ];
  return [
    alone ? '' : `.Ss agentd ${command.name}`,
    prose(command.summary),
    ...(command.description ? [prose(command.description)] : []),
    ...(items.length > 0 ? [list(items)] : []),
  ]
    .filter(Boolean)
    .join('\n');
}

function exitStatus() {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  return {
    title: 'EXIT STATUS',
    body: list(names.map((name) => ({ term: `${EXIT[name]}`, body: prose(EXIT_MEANINGS[name]) }))),
  };
}

function errorsPage(): Page {
  return {
    name: 'agentd-errors',
    section: '7',
    summary: 'error codes of the HTTP interface',
    sections: [
      {
        title: 'DESCRIPTION',
        body: [
          prose(
            'A request that fails is answered with a problem document (RFC 9457, `application/problem+json`): `type`, `title`, `status`, `detail`, `code`, `request_id`; for `invalid_request` also the list `errors` of `field` and `message`, for `loop_guard_blocked` also `reason`. Clients test `code`; the texts may change. A token that is no use is never such a failure: the message is answered under the default credentials.',
          ),
          '.Pp',
          'The codes are:',
          list(
            Object.entries(ERRORS).map(([code, { status, meaning, solve }]) => ({
              term: `Er ${code} Pq ${status}`,
              body: `${prose(meaning)}\n.Pp\nHow to solve:\n${prose(solve)}`,
            })),
          ),
        ].join('\n'),
      },
      {
        title: 'SEE ALSO',
        body: seeAlso([
          ['agentd', '1'],
          ['agentd-explain', '1'],
          ['agentd-settings', '5'],
        ]),
      },
    ],
  };
}

/** In the order that mdoc asks for: by section, then by name. */
function seeAlso(references: readonly (readonly [string, string])[]): string {
  const sorted = [...references].sort(([a, x], [b, y]) => x.localeCompare(y) || a.localeCompare(b));
  return sorted
    .map(([name, section], index) => `.Xr ${text(name)} ${section}${index < sorted.length - 1 ? ' ,' : ''}`)
    .join('\n');
}

if (import.meta.main) {
  for (const [file, content] of await pages()) writeFileSync(new URL(file, import.meta.url), content);
  for (const [file, content] of await settingsFiles())
    writeFileSync(new URL(`../${file}`, import.meta.url), content);
}
