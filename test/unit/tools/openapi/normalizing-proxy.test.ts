import { createServer, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Tool } from '../../../../src/daemon/tools/tool.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';
import { startNormalizingProxy, withoutNginx } from '../../../support/nginx.ts';
import { documentOf, toolsOf } from '../../../support/openapi.ts';
import { accessTo, bindOne } from '../../../support/tools.ts';

// nginx with a path in `proxy_pass` decodes the path of a request, resolves its dot segments and merges its slashes. The
// API behind it must not get a path that the document does not name.

let received: string[] = [];
const server = createServer(({ url = '' }, response) => {
  received.push(url);
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});
let proxy: Awaited<ReturnType<typeof startNormalizingProxy>>;

beforeAll(async () => {
  if (withoutNginx) return;
  const port = await listenOnFreePort(server);
  proxy = await startNormalizingProxy('/shop/', `http://127.0.0.1:${port}/internal/`);
});
afterAll(async () => {
  await proxy?.close();
  server.close();
});
beforeEach(() => {
  received = [];
});

async function orderTool(allow_slash: boolean): Promise<Tool> {
  const parameters = ['person', 'order'].map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const operation = { operationId: 'a', parameters, responses: { default: { description: '' } } };
  const [tool] = await toolsOf(
    documentOf({ '/people/{person}/orders/{order}': { get: operation } }),
    { a: { credentials: 'none', parameters: { order: { allow_slash } } } },
    { base_url: `${proxy.url}/shop` },
  );
  return tool as Tool;
}

/** Sends a request whose path is exactly this. */
function raw(path: string): Promise<void> {
  const { port } = new URL(proxy.url);
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path }, (response) => {
      response.resume().on('end', () => resolve());
    });
    sent.on('error', reject).end();
  });
}

const HOSTILE = [
  '../../bob/orders/1',
  '..%2F..%2Fbob%2Forders%2F1',
  '%2e%2e%2f%2e%2e%2fbob%2forders%2f1',
  '..',
  '%2e%2e',
  '%252e%252e',
  '.',
  '',
  '/',
  'x/../../../bob/orders/1',
  '..\\..\\bob',
  '//',
];

test.skipIf(withoutNginx)('the proxy turns an encoded value into the path of another person', async () => {
  await raw(`/shop/people/alice/orders/${encodeURIComponent('../../bob/orders/1')}`);
  expect(received).toEqual(['/internal/people/bob/orders/1']);
});

test.skipIf(withoutNginx).each([false, true])(
  'no argument leads to the path of another person (allow_slash: %s)',
  async (allow_slash) => {
    const tool = await orderTool(allow_slash);
    const { bound } = bindOne(tool, { access: accessTo(undefined) });
    for (const order of HOSTILE) await bound.call({ person: 'alice', order }).catch(() => undefined);
    expect(received).toEqual([]);
    for (const order of ['7', '50%', 'a b', ...(allow_slash ? ['2026/7'] : [])])
      expect(
        await bindOne(tool, { access: accessTo(undefined) }).bound.call({ person: 'alice', order }),
      ).toEqual({
        ok: true,
        result: {},
      });
    expect(received).toEqual(
      ['7', '50%25', 'a%20b', ...(allow_slash ? ['2026/7'] : [])].map(
        (order) => `/internal/people/alice/orders/${order}`,
      ),
    );
  },
);
