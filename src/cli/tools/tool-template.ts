/** The module of a new tool. It is an example that works as soon as the API has `GET /orders`. */
export function toolModule(name: string): string {
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
export function toolTest(name: string): string {
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
