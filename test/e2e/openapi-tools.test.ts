import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// An API with an OpenAPI document, connected with a few lines of the configuration file.

/** Calls the tool that the message names, and replies with the result. */
const RUNTIME = `
export default {
  apiVersion: 1,
  async *run({ text, tools }) {
    const [, name, args] = /^(\\w+) (.*)$/s.exec(text);
    yield JSON.stringify(await tools.find((tool) => tool.name === name).call(JSON.parse(args)));
  },
};
`;

const DOCUMENT = `
openapi: 3.1.0
info: { title: Shop, version: '1' }
servers: [{ url: 'https://elsewhere.example.com' }]
paths:
  /orders:
    get:
      operationId: listOrders
      summary: Your orders
      parameters:
        - { name: customer, in: query, required: true, schema: { type: string } }
        - { name: states, in: query, explode: false, schema: { type: array, items: { enum: [open, sent] } } }
      responses: { '200': { description: Orders } }
  /products/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: string } }
    get:
      responses: { '200': { description: A product } }
    delete:
      operationId: deleteProduct
      responses: { '204': { description: Gone } }
  /search?mode=full#form:
    post:
      operationId: search
      requestBody:
        content:
          application/x-www-form-urlencoded:
            encoding: { filter: { style: deepObject, explode: true } }
            schema:
              type: object
              properties: { owner: { type: string }, filter: { type: object } }
      responses: { '200': { description: Found } }
`;

const ENTRIES = `
tools:
  - openapi: ./shop.yaml
    name: shop
    operations:
      listOrders: { bind: { customer: sub } }
  - openapi: ./shop.yaml
    name: keyed
    base_url: BASE/v2
    credentials: none
    secrets: [SHOP_KEY]
    headers: { X-Api-Key: '\${SHOP_KEY}' }
    operations:
      GET /products/{id}: {}
  - openapi: ./shop.yaml
    name: other
    base_url: BASE/v3
    credentials: user
    credential: { cookie: session }
    operations:
      search: { effect: read, bind: { body.owner: sub } }
`;

const folder = temporaryFolder('openapi');
let seen: { line: string; authorization: string | undefined; key: unknown }[] = [];
/** The forms that arrived, each with its type and its cookie. */
let forms: unknown[] = [];
const api = createServer((request, response) => {
  const { method, url = '', headers } = request;
  response.setHeader('content-type', 'application/json');
  seen.push({ line: `${method} ${url}`, authorization: headers.authorization, key: headers['x-api-key'] });
  if (url.startsWith('/v3/')) {
    text(request).then((form) => {
      forms.push({ line: `${method} ${url}`, type: headers['content-type'], cookie: headers.cookie, form });
      response.setHeader('link', `<http://x/search?page=2&session=${headers.cookie}>; rel="next"`);
      response.end(JSON.stringify({ you: headers.cookie }));
    });
    return;
  }
  response.end(url.includes('/orders') ? '[{"id":7}]' : '{"name":"Kettle","cost":4}');
});
let daemon: DaemonHere;

beforeAll(async () => {
  const base = `http://127.0.0.1:${await listenOnFreePort(api)}`;
  writeFiles(folder, {
    'runtime.ts': RUNTIME,
    'shop.yaml': DOCUMENT,
    'agentd.yaml': ENTRIES.replaceAll('BASE', base),
  });
  const env = {
    AGENT_RUNTIME: './runtime.ts',
    API_BASE_URL: `${base}/v1`,
    API_EMAIL: 'service@example.com',
    API_PASSWORD: 'service-password',
    SHOP_KEY: 'key-1',
  };
  daemon = await startDaemonHere({ directory: folder, env });
});
beforeEach(() => {
  seen = [];
  forms = [];
});

async function say(message: string, jwt?: string): Promise<unknown> {
  const headers = jwt === undefined ? {} : { authorization: `Bearer ${jwt}` };
  const { body } = await post(daemon.url, { user_id: 'ada', message }, { headers });
  return JSON.parse(String(body.response));
}

test('a listed operation is called as the person, with a parameter that is bound to a claim', async () => {
  const jwt = await token({ sub: 'user-1' });
  expect(await say('shop_listOrders {"states":["open","sent"]}', jwt)).toEqual({
    ok: true,
    result: [{ id: 7 }],
  });
  expect(seen).toEqual([
    {
      line: 'GET /v1/orders?customer=user-1&states=open,sent',
      authorization: `Bearer ${jwt}`,
      key: undefined,
    },
  ]);
});

test('a source with its own key sends the key and no token', async () => {
  const jwt = await token({ sub: 'user-1' });
  expect(await say('keyed_GET__products__id_ {"id":"1"}', jwt)).toEqual({
    ok: true,
    result: { name: 'Kettle', cost: 4 },
  });
  expect(seen).toEqual([{ line: 'GET /v2/products/1', authorization: undefined, key: 'key-1' }]);
});

test('a form is sent with a bound field and the token in a cookie, and the token does not come back', async () => {
  const jwt = await token({ sub: 'user-1' });
  expect(await say('other_search {"body":{"filter":{"state":["open"],"q":"a&b"}}}', jwt)).toEqual({
    ok: true,
    result: { you: 'session=[token]' },
    headers: { link: '<http://x/search?page=2&session=session=[token]>; rel="next"' },
  });
  expect(forms).toEqual([
    {
      line: 'POST /v3/search?mode=full',
      type: 'application/x-www-form-urlencoded',
      cookie: `session=${jwt}`,
      form: 'filter%5Bstate%5D%5B%5D=open&filter%5Bq%5D=a%26b&owner=user-1',
    },
  ]);
  expect(seen.map(({ authorization }) => authorization)).toEqual([undefined]);
});

test('an entry that does not match its document prevents the start with exit code 78, and the error says where', async () => {
  const broken = ENTRIES.replace('listOrders:', 'listOrder:').replaceAll('BASE', 'https://shop.example.com');
  writeFileSync(join(folder, 'broken.yaml'), broken, { mode: 0o600 });
  const env = {
    API_BASE_URL: 'https://api.example.com',
    SHOP_KEY: 'key-1',
    STATE_DIR: join(folder, 'other'),
  };
  for (const name of [['config', 'check'], ['serve']]) {
    const { code, stderr } = await command([...name, '--config', 'broken.yaml'], { cwd: folder, env });
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining(
        [
          '  tools[0].operations.listOrder (broken.yaml, line 6)',
          '    wrong: is not an operation of the document shop.yaml',
          '    right: an operationId, or a method and a path such as "GET /orders/{id}"; nearest: listOrders',
        ].join('\n'),
      ),
    ]);
  }
});
