import { join, relative, resolve } from 'node:path';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { toolModule, toolTest } from '../tools/tool-template.ts';
import { writeNewFiles } from '../write-new-files.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export const command: Command = {
  name: 'tools new',
  summary: 'Create a tool of your own: a TypeScript module with its test.',
  ignoresDev: true,
  description:
    'Writes a module with one tool, which reads orders of the person who is signed in, and its test. Change it for your API. Neither needs a build or an installed package: Node.js runs both directly. The name of the tool is NAME. If one of the files exists, nothing is written, and the exit code is 1. agentd-agent(7), "Modules", describes what a tool can declare.',
  args: [
    {
      name: 'name',
      sentence:
        'name of the tool: letters, digits, `_` and `-`, beginning with a letter, at most 64 characters',
      required: true,
    },
  ],
  options: [
    {
      flags: '--directory <directory>',
      sentence: 'target directory; default: tools in the working directory',
      values: 'directory',
    },
  ],
  examples: [
    { line: 'agentd tools new list_orders', does: 'Writes tools/list_orders.ts and its test.' },
    { line: 'agentd tools new refund --directory .', does: 'Writes them into the working directory.' },
  ],
  json: true,
  async run({ args: [name = ''], options, out }) {
    if (!NAME.test(name))
      throw usageError(
        `'${printable(name)}' cannot be the name of a tool`,
        'A name is 1 to 64 letters, digits, `_` and `-`, and begins with a letter.',
      );
    const chosen = typeof options.directory === 'string' ? options.directory : 'tools';
    if (chosen === '') throw usageError('--directory names no directory');
    const directory = resolve(chosen);
    const files = [
      { path: join(directory, `${name}.ts`), text: toolModule(name) },
      { path: join(directory, `${name}.test.ts`), text: toolTest(name) },
    ];
    await writeNewFiles(files, 'Choose another name, or another directory with --directory.');
    const paths = files.map(({ path }) => path);
    out.data({ name, files: paths }, () => inWords(name, paths));
    return EXIT.ok;
  },
};

function inWords(name: string, [module = '', test = '']: readonly string[]): string {
  const path = (file: string) => {
    const short = relative(process.cwd(), file);
    return printable(short.startsWith('.') ? file : `./${short}`);
  };
  return [
    `wrote the tool ${name}: ${path(module)}, ${path(test)}`,
    `test it:  node --test ${path(test)}    # Node.js 22.18 or newer`,
    'use it:   add it to the configuration file:',
    '            tools:',
    `              - module: ${path(module)}`,
    `try it:   agentd tools call ${name}`,
  ].join('\n');
}
