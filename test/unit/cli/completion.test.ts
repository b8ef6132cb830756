import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/command.ts';
import { readVocabulary } from '../../../src/cli/completion/vocabulary.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { HAS_TERMINALS, Terminal } from '../../support/terminal.ts';
import { agentd } from './captured-output.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

let directory: string;
beforeAll(async () => {
  directory = temporaryFolder('completion');
  for (const shell of SHELLS) await writeFile(script(shell), await printed(shell));
  await writeFile(join(directory, 'my settings.yaml'), '');
});

const script = (shell: Shell) => join(directory, `agentd.${shell}`);

async function printed(shell: string): Promise<string> {
  return (await agentd('completion', shell)).stdout;
}

/** Whether the tests of a shell are skipped because it is missing. With CI=true, they fail instead. */
function skips(shell: Shell): boolean {
  const missing = spawnSync(shell, ['-c', ':']).error !== undefined;
  if (missing) console.warn(`${shell} is not installed: completion in it is NOT checked`);
  return missing && process.env.CI !== 'true';
}

/** A command line whose last word is completed, and the expected candidates, in any order. */
const OFFERS: readonly [typed: string, offered: readonly string[]][] = [
  ['agentd tok', ['token']],
  ['agentd token ', ['verify', 'issue']],
  ['agentd --config other.yaml token v', ['verify']],
  ['agentd link l', ['list']],
  ['agentd link ', ['list', 'remove', 'msgbot', 'phone', 'teamchat']],
  ['agentd link remove ', ['msgbot', 'phone', 'teamchat']],
  ['agentd simulate ', ['msgbot', 'phonechat', 'teamchat']],
  ['agentd simulate teamchat --kind ', ['message', 'command', 'other', 'status']],
  ['agentd simulate teamchat hello --bad', ['--bad-signature']],
  ['agentd logs --level ', ['trace', 'debug', 'info', 'warn', 'error', 'fatal']],
  ['agentd logs -n 5 --le', ['--level']],
  ['agentd link list --r', []],
  ['agentd link --r', ['--replace']],
  ['agentd link list --platform p', ['phonechat']],
  ['agentd sessions list --limit ', []],
  ['agentd completion ', ['bash', 'zsh', 'fish']],
  ['agentd he', ['help']],
  ['agentd help o', ['operate']],
  ['agentd help cha', ['channels', 'chat']],
  ['agentd completion bash b', []],
  ['agentd status --env-file my', ['my settings.yaml']],
];

describe('agentd completion bash', () => {
  const quoted = (word: string) => `'${word}'`;
  const complete = (words: readonly string[]) =>
    [
      `COMP_WORDS=(${words.map(quoted).join(' ')}) COMP_CWORD=${words.length - 1} COMPREPLY=()`,
      '_agentd',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash
      'for word in "${COMPREPLY[@]}"; do echo "$word"; done',
      'echo =-=',
    ].join('\n');

  /** The words that are offered for each of the lines. One shell completes them all. */
  function offeredFor(lines: readonly (readonly string[])[]): string[][] {
    const program = ['source "$1"', ...lines.map(complete)].join('\n');
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program, 'bash', script('bash')], {
      cwd: directory,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const outputs = stdout.split('=-=\n').slice(0, -1);
    return outputs.map((output) => output.split('\n').filter(Boolean).sort());
  }
  const offered = (...words: string[]) => offeredFor([words])[0];

  it('offers the right words', () => {
    const offers = offeredFor(OFFERS.map(([typed]) => typed.split(' ')));
    expect(offers).toEqual(OFFERS.map(([, expected]) => [...expected].sort()));
  });

  it('completes a value that bash has split at the equals sign', () => {
    expect(offered('agentd', 'logs', '--level', '=', 'wa')).toEqual(['warn']);
    expect(offered('agentd', 'logs', '--level', '=')).toHaveLength(6);
    expect(offered('agentd', 'logs', '--level', '=', 'warn', '--fo')).toEqual(['--follow']);
  });

  it('offers options if nothing else can follow, and no options after `--`', () => {
    expect(offered('agentd', 'serve', '')).toContain('--dev');
    expect(offered('agentd', 'simulate', '--', 'teamchat', '-')).toEqual([]);
  });

  it('registers a completion function for agentd', () => {
    const { stdout } = spawnSync(
      'bash',
      ['--norc', '-c', `source "$1"; complete -p agentd`, 'bash', script('bash')],
      {
        encoding: 'utf8',
      },
    );
    expect(stdout).toBe('complete -F _agentd agentd\n');
  });
});

describe.skipIf(skips('fish'))('agentd completion fish', () => {
  it('offers the right words', () => {
    const lines = OFFERS.map(([typed]) => `complete -C '${typed}'; echo =-=`).join('\n');
    const { stdout, stderr } = spawnSync(
      'fish',
      ['--no-config', '-c', `source $argv[1]\n${lines}`, script('fish')],
      { cwd: directory, encoding: 'utf8', env: { ...process.env, HOME: directory } },
    );
    expect(stderr).toBe('');
    const outputs = stdout.split('=-=\n').slice(0, -1);
    const words = outputs.map((output) =>
      output
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t')[0]?.replaceAll('\\', ''))
        .sort(),
    );
    expect(words).toEqual(OFFERS.map(([, expected]) => [...expected].sort()));
  });
});

describe.skipIf(skips('zsh'))('agentd completion zsh', () => {
  const PROMPT = 'ready:';

  /** Returns the command lines after these keys and Enter each. */
  async function typed(lines: readonly string[]): Promise<(string | undefined)[]> {
    await writeFile(
      join(directory, '.zshrc'),
      `PS1=${PROMPT}\nunsetopt beep\nautoload -Uz compinit\ncompinit -u -d "$ZDOTDIR/dump"\nsource '${script('zsh')}'\nagentd() { print -r -- "got<\${(j:|:)@}>" }\n`,
    );
    const terminal = new Terminal('exec zsh -d -i', { cwd: directory, env: { ZDOTDIR: directory } });
    await terminal.shows(PROMPT);
    for (const keys of lines) {
      terminal.type(`${keys}\n`);
      await terminal.shows('got<');
      await terminal.shows(PROMPT);
    }
    terminal.type('exit\n');
    await terminal.exited;
    return [...terminal.shown.matchAll(/got<(.*)>/g)].map(([, line]) => line);
  }

  it('prints valid zsh code', () => {
    expect(spawnSync('zsh', ['-n', script('zsh')], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  });

  const TYPED = [
    ['agentd tok\tver\t--js\t', 'token|verify|--json'],
    ['agentd --config other.yaml gu\tres\tph\t', '--config|other.yaml|guard|reset|phonechat'],
    ['agentd logs --level=wa\t', 'logs|--level=warn'],
    ['agentd logs -n 3 --level wa\t--fol\t', 'logs|-n|3|--level|warn|--follow'],
    ['agentd link ph\t', 'link|phone'],
    ['agentd link rem\tph\t', 'link|remove|phone'],
    ['agentd simulate tea\thello --bad\t', 'simulate|teamchat|hello|--bad-signature'],
    ['agentd status --env-file my\t', 'status|--env-file|my settings.yaml'],
  ] as const;
  it.runIf(HAS_TERMINALS || process.env.CI === 'true')('completes keys', async () => {
    expect(await typed(TYPED.map(([keys]) => keys))).toEqual(TYPED.map(([, line]) => line));
  });
});

describe('the vocabulary of the completion', () => {
  it('has exactly the options that the help of each command shows', async () => {
    const { commands } = await readVocabulary();
    for (const { name } of COMMANDS) {
      const { stdout } = await agentd(...name.split(' '), '--help');
      const options = stdout.split('\nExamples:')[0] ?? '';
      const shown = [...options.matchAll(/^ {2}((?:-\w, )?--[\w-]+)/gm)].flatMap(([, flags = '']) =>
        flags.split(', '),
      );
      const known = commands.find(({ at }) => at === name)?.options.flatMap(({ flags }) => flags);
      expect(known?.toSorted(), name).toEqual(shown.sort());
    }
  });

  it('has only words that a script can contain unquoted', async () => {
    const { commands } = await readVocabulary();
    const words = commands.flatMap(({ next, options, args }) => [
      ...next.map(({ word }) => word),
      ...options.flatMap(({ flags }) => flags),
      ...[...options.map(({ value }) => value), ...args].filter((value) => Array.isArray(value)).flat(),
    ]);
    expect(words.filter((word) => !/^[A-Za-z0-9_.-]+$/.test(word))).toEqual([]);
  });

  // The scripts decide by the option alone whether a value follows. They do not look at the command.
  it('has only options that take a value in all commands or in none', async () => {
    const { commands, valued } = await readVocabulary();
    const plain = commands.flatMap(({ options }) => options).filter(({ value }) => value === null);
    expect(plain.flatMap(({ flags }) => flags).filter((flag) => valued.includes(flag))).toEqual([]);
  });

  it('has every command and group', async () => {
    const { commands } = await readVocabulary();
    const paths = new Set(COMMANDS.flatMap(({ name }) => [name.split(' ')[0], name]));
    expect(commands.map(({ at }) => at).sort()).toEqual(['', 'help', ...paths].sort());
  });
});

it('agentd completion names the supported shells if another shell is requested', async () => {
  expect(await agentd('completion', 'tcsh')).toEqual({
    code: 2,
    stdout: '',
    stderr: "agentd: there is no completion for 'tcsh'\nUse one of: bash, zsh, fish.\n",
  });
});
