import { resolve } from 'node:path';
import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { printable } from '../../daemon/printable.ts';
import type { Command } from '../command.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { scaffold } from '../scaffold.ts';

export const command: Command = {
  name: 'channels new',
  summary: 'Begin a channel of your own: a TypeScript package with its tests.',
  ignoresDev: true,
  description:
    'Writes a channel that works, for a made-up platform: signed webhooks come in, replies go out over HTTP in parts, users sign in by a command, and `agentd simulate` stands in for the platform. It passes the conformance suite; change it file by file to what your platform does. The package holds this agentd in vendor/, as npm would pack it, so that `npm install` and `npm test` work on any machine. Its README describes how to try, test, load and publish it; agentd-channel(7) has a tutorial. The directory must be empty or missing: otherwise nothing is written, and the exit code is 1.',
  args: [
    {
      name: 'name',
      sentence:
        'name of the channel: lower-case letters and digits, beginning with a letter, and single hyphens between them, at most 32 characters',
      required: true,
    },
  ],
  options: [
    {
      flags: '--directory <directory>',
      sentence: 'where to; default: agentd-channel-NAME in the working directory',
      values: 'directory',
    },
  ],
  examples: [
    { line: 'agentd channels new pager', does: 'Writes the channel pager into agentd-channel-pager.' },
    {
      line: 'agentd channels new pager --directory plugins/pager',
      does: 'Writes it somewhere else.',
    },
  ],
  json: true,
  async run({ args: [name = ''], options, out }) {
    await requireName(name);
    const chosen = typeof options.directory === 'string' ? options.directory : `agentd-channel-${name}`;
    if (chosen === '') throw new CliError(EXIT.usage, '--directory names no directory');
    const directory = resolve(chosen);
    const files = await scaffold(name, directory);
    out.data({ name, directory, files }, () => inWords(name, chosen, files));
    return EXIT.ok;
  },
};

/** The rules of the loader, asked beforehand. */
async function requireName(name: string): Promise<void> {
  const { LINK_COMMANDS, NAME_RULE, isChannelName } = await import('../../daemon/plugin/check-plugin.ts');
  const taken: readonly string[] = [...RESERVED_CHANNEL_NAMES, ...LINK_COMMANDS];
  if (isChannelName(name) && !taken.includes(name)) return;
  throw new CliError(
    EXIT.usage,
    `a channel cannot be called '${printable(name)}'`,
    taken.includes(name) ? `${taken.join(', ')} are taken.` : `A name is ${NAME_RULE}.`,
  );
}

function inWords(name: string, directory: string, files: readonly string[]): string {
  const folder = printable(/^[./~]/.test(directory) ? directory : `./${directory}`);
  return [
    `the channel ${name} is in ${folder}: ${files.length} files, README.md first`,
    `test it:  cd ${folder} && npm install && npm test`,
    `run it:   MESSAGING_PLATFORMS=${folder} agentd serve --dev`,
  ].join('\n');
}
