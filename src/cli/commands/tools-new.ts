import { join, relative, resolve } from 'node:path';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';

import { writeNewFiles } from '../scaffold.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export const command = defineCommand({
  ignoresDev: true,
  description:
    'Writes a module with one tool, which reads orders of the person who is signed in, and its test. Change it for your API. Neither needs a build or an installed package: Node.js runs both directly. The name of the tool is NAME. If one of the files exists, nothing is written, and the exit code is 1. agentd-agent(7), "Modules", describes what a tool can declare.',
  args: {
    '<name>':
      'name of the tool: letters, digits, `_` and `-`, beginning with a letter, at most 64 characters',
  },
  options: {
    '--directory <directory>': {
      sentence: 'target directory; default: tools in the working directory',
      values: 'directory',
    },
  },
  examples: {
    'agentd tools new list_orders': 'Writes tools/list_orders.ts and its test.',
    'agentd tools new refund --directory .': 'Writes them into the working directory.',
  },
  json: true,
  async run({ args: [name = ''], options, out }) {
    if (!NAME.test(name))
      throw usageError(
        `'${printable(name)}' cannot be the name of a tool`,
        'A name is 1 to 64 letters, digits, `_` and `-`, and begins with a letter.',
      );
    const { directory: chosen = 'tools' } = options;
    if (chosen === '') throw usageError('--directory names no directory');
    const directory = resolve(chosen);
    const files = [
      { path: join(directory, `${name}.ts`), content: toolModule(name) },
      { path: join(directory, `${name}.test.ts`), content: toolTest(name) },
    ];
    await writeNewFiles(files, 'Choose another name, or another directory with --directory.');
    const paths = files.map(({ path }) => path);
    out.data({ name, files: paths }, () => formatFiles(name, paths));
  },
});

function formatFiles(name: string, [module = '', test = '']: readonly string[]): string {
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

/** The module of a new tool. It is an example that works as soon as the API has `GET /orders`. */
function toolModule(name: string): string {
  return `import type { ToolContext, ToolDefinition } from 'agentd/agent';

interface Arguments {
  status?: 'open' | 'shipped' | 'delivered';
}

/** The orders of the person who is signed in. */
export default {
  name: '${name}',
  // For the model: what the tool does, and when to use it.
  description: 'Lists the orders of the person who is signed in, newest first.',
  // JSON Schema of the arguments that the model fills in. The person for whom the call acts is never an argument.
  parameters: {
    type: 'object',
    properties: {
      status: {
        type: 'string',
        enum: ['open', 'shipped', 'delivered'],
        description: 'Only orders in this state.',
      },
    },
  },
  // A tool that changes something has the effect 'write': then the person must confirm each call.
  effect: 'read',
  // Without sign-in there is no call, and the agent says that sign-in is needed.
  credentials: 'user',
  async call({ status }: Arguments, { api, person }: ToolContext) {
    // The request carries the person's token. The promise resolves to the parsed JSON answer.
    return api.get('/orders', { query: { customer: person?.sub, status } });
  },
} satisfies ToolDefinition;
`;
}

/** The test of a new tool. It runs with `node --test`, and needs no package. */
function toolTest(name: string): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolApi, ToolContext } from 'agentd/agent';
import tool from './${name}.ts';

/** A context whose API gives \`answer\` to every request, and the list of the requests that it got. */
function contextOf(answer: unknown) {
  const requests: unknown[] = [];
  const method = (name: string) => async (path: string, request: object = {}) => {
    requests.push({ method: name, path, ...request });
    return answer;
  };
  const api: ToolApi = {
    get: method('GET'),
    post: method('POST'),
    put: method('PUT'),
    patch: method('PATCH'),
    delete: method('DELETE'),
  };
  const context: ToolContext = {
    person: { sub: 'user-1', email: 'ada@example.com' },
    session_id: 'session-1',
    user_id: 'user-1',
    app_name: 'agentd',
    api,
    idempotency_key: null,
    signal: new AbortController().signal,
    log: { debug() {}, warn() {} },
  };
  return { context, requests };
}

test('it requests the orders of the signed-in person', async () => {
  const { context, requests } = contextOf([{ id: '1001' }]);
  assert.deepEqual(await tool.call({ status: 'open' }, context), [{ id: '1001' }]);
  assert.deepEqual(requests, [
    { method: 'GET', path: '/orders', query: { customer: 'user-1', status: 'open' } },
  ]);
});
`;
}
