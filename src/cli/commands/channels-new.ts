import { resolve } from 'node:path';
import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { channelNameRules } from '../../daemon/admin/channels.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { scaffold } from '../scaffold.ts';

export const command = defineCommand({
  ignoresDev: true,
  description: [
    'Writes a working channel for an invented platform: signed webhooks arrive, replies are sent over HTTP in parts, users sign in by a command, and `agentd simulate` simulates the platform. It passes the conformance suite. Change it file by file for your platform.',
    'The package contains this agentd in vendor/, packed as npm would pack it, so that `npm install` and `npm test` work on any machine. Its README describes how to try, test, load and publish it; agentd-channel(7) has a tutorial.',
    'The directory must be empty or missing: otherwise nothing is written, and the exit code is 1.',
  ].join('\n\n'),
  args: {
    '<name>':
      'name of the channel: at most 32 lower-case letters, digits and single hyphens; begins with a letter, and does not end with a hyphen',
  },
  options: {
    '--directory <directory>': {
      sentence: 'target directory; default: agentd-channel-NAME in the working directory',
      values: 'directory',
    },
  },
  examples: {
    'agentd channels new pager': 'Writes the channel pager into agentd-channel-pager.',
    'agentd channels new pager --directory plugins/pager': 'Writes the channel into another directory.',
  },
  json: true,
  async run({ args: [name = ''], options, out }) {
    await requireName(name);
    const { directory: chosen = `agentd-channel-${name}` } = options;
    if (chosen === '') throw usageError('--directory names no directory');
    const directory = resolve(chosen);
    const files = await scaffold(name, directory);
    out.data({ name, directory, files }, () => formatFiles(name, chosen, files));
  },
});

/** Checks the name with the rules of the plugin loader. @throws CliError (2) if it is invalid or taken */
async function requireName(name: string): Promise<void> {
  const { isName, rule, reserved } = await channelNameRules();
  const taken: readonly string[] = [...RESERVED_CHANNEL_NAMES, ...reserved];
  if (isName(name) && !taken.includes(name)) return;
  throw usageError(
    `'${printable(name)}' cannot be the name of a channel`,
    taken.includes(name) ? `These names are taken: ${taken.join(', ')}.` : `A name is ${rule}.`,
  );
}

function formatFiles(name: string, directory: string, files: readonly string[]): string {
  const folder = printable(/^[./~]/.test(directory) ? directory : `./${directory}`);
  return [
    `wrote the channel ${name} to ${folder}: ${files.length} files; start with README.md`,
    `test it:  cd ${folder} && npm install && npm test`,
    `run it:   cd ${folder} && npm start`,
  ].join('\n');
}
