import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeSource } from '../../../../src/daemon/tools/describe-source.ts';
import { loadOpenApiTools } from '../../../../src/daemon/tools/openapi/openapi-source.ts';
import { fixedSource } from '../../../../src/daemon/tools/registry.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';
import { API, documentOf, entryOf, problemsOf, readEntry, toolsOf } from '../../../support/openapi.ts';

const OK = { responses: { default: { description: '' } } };
const ID = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const json = (schema: object, rest: object = {}) => ({
  content: { 'application/json': { schema } },
  ...rest,
});

const SHOP = documentOf({
  '/orders': {
    get: { operationId: 'listOrders', summary: 'List orders', description: 'All of them.', ...OK },
    head: { operationId: 'countOrders', ...OK },
    post: { operationId: 'createOrder', requestBody: json({ type: 'object' }, { required: true }), ...OK },
  },
  '/orders/{id}': {
    parameters: [ID],
    get: { summary: 'One order', ...OK },
    delete: { operationId: 'cancelOrder', ...OK },
  },
});

describe('the operations of a document', () => {
  it('become tools only if they are listed, by operationId or by method and path', async () => {
    const tools = await toolsOf(SHOP, { listOrders: {}, 'get /orders/{id}': {} });
    expect(tools.map(({ name }) => name)).toEqual(['shop_listOrders', 'shop_GET__orders__id_']);
  });

  it('are named by `as`, or by their operationId, even if the key is a path', async () => {
    const tools = await toolsOf(
      SHOP,
      { 'DELETE /orders/{id}': {}, listOrders: { as: 'orders' } },
      { name: 'my shop' },
    );
    expect(tools.map(({ name }) => name)).toEqual(['my_shop_cancelOrder', 'orders']);
  });

  it('read with GET and HEAD, and write with every other method, and only writes need confirmation', async () => {
    const keys = {
      listOrders: {},
      countOrders: {},
      createOrder: {},
      cancelOrder: { confirm: 'never' as const },
    };
    const tools = await toolsOf(SHOP, keys);
    expect(tools.map(({ effect, confirm }) => [effect, confirm])).toEqual([
      ['read', 'never'],
      ['read', 'never'],
      ['write', 'always'],
      ['write', 'never'],
    ]);
  });

  it('show the model the summary and the description of the operation', async () => {
    const [list, cancel] = await toolsOf(SHOP, {
      listOrders: {},
      cancelOrder: { summary: 'Cancel order {id}' },
    });
    expect(list).toMatchObject({
      title: 'List orders',
      description: 'List orders\n\nAll of them.',
      summary: null,
    });
    expect(cancel).toMatchObject({
      title: null,
      description: 'DELETE /orders/{id}',
      summary: 'Cancel order {id}',
    });
  });

  it.each([
    ['https://api.example.com', undefined, 'user-or-default', 'user'],
    ['https://api.example.com', 'user-or-default', 'user-or-default', 'user'],
    ['https://api.example.com', 'default', 'default', 'default'],
    ['https://other.example.com', undefined, 'none', 'none'],
    ['https://other.example.com', 'user', 'user', 'user'],
  ] as const)(
    'at %s with the policy %s use the policy %s for reads and %s for writes',
    async (base_url, credentials, read, write) => {
      const rest = { base_url, ...(credentials === undefined ? {} : { credentials }) };
      const tools = await toolsOf(
        SHOP,
        { listOrders: {}, cancelOrder: {}, countOrders: { credentials: 'none' } },
        rest,
      );
      expect(tools.map((tool) => tool.credentials)).toEqual([read, write, 'none']);
    },
  );

  it('are idempotent if the entry says so or names a header for the key', async () => {
    const tools = await toolsOf(SHOP, {
      createOrder: { idempotency_header: 'Idempotency-Key' },
      cancelOrder: { idempotent: true },
      listOrders: {},
    });
    expect(tools.map(({ idempotent }) => idempotent)).toEqual([true, true, false]);
  });

  it('are offered only after the source has started, with the source record of the daemon', async () => {
    const entry = entryOf(SHOP, { listOrders: { public: ['id'], bind: {} } });
    const info = describeSource(entry, API);
    const source = fixedSource(info, () => loadOpenApiTools(entry, info));
    expect(source.list()).toEqual([]);
    await source.start();
    expect(source.list()).toMatchObject([{ name: 'shop_listOrders', public: ['id'] }]);
    expect(source.list()[0]?.source).toBe(info);
    expect(source.list()).toBe(source.list());
    expect(source.state()).toEqual({ status: 'ok', detail: null, withheld: [] });
  });
});

describe('an operation at a path with a query or a fragment', () => {
  const document = documentOf({
    '/files/{id}': { parameters: [ID], put: { operationId: 'rename', ...OK } },
    '/files/{id}#add_link': { parameters: [ID], put: { summary: 'Add a link', ...OK } },
    '/responses?beta=true': {
      get: {
        operationId: 'beta',
        parameters: [{ name: 'Beta', in: 'query', required: true, schema: { type: 'string' } }],
        ...OK,
      },
    },
  });

  it('is found by its operationId, or by the method and the whole path', async () => {
    const tools = await toolsOf(document, {
      rename: {},
      'PUT /files/{id}#add_link': {},
      beta: {},
    });
    expect(tools.map(({ name }) => name)).toEqual([
      'shop_rename',
      'shop_PUT__files__id__add_link',
      'shop_beta',
    ]);
  });

  it('has no argument for a parameter whose value is in the path', async () => {
    const [tool] = await toolsOf(document, { beta: {} });
    expect(tool?.parameters.properties).toEqual({});
  });
});

describe('a reference in the place of an operation', () => {
  it('is followed within the document', async () => {
    const order = { operationId: 'getOrder', parameters: [ID], ...OK };
    const document = documentOf(
      {
        '/orders/{id}': { get: { $ref: '#/components/x-operations/getOrder' } },
        '/old/{id}': { $ref: '#/components/pathItems/old' },
        '/older/{id}': { get: { $ref: '#/paths/~1orders~1%7Bid%7D/get' } },
      },
      {
        components: {
          'x-operations': { getOrder: order },
          pathItems: { old: { delete: { operationId: 'deleteOrder', parameters: [ID], ...OK } } },
        },
      },
    );
    const tools = await toolsOf(document, {
      'GET /orders/{id}': {},
      deleteOrder: {},
      'GET /older/{id}': { as: 'older' },
    });
    expect(tools.map(({ name, parameters }) => [name, parameters.required])).toEqual([
      ['shop_getOrder', ['id']],
      ['shop_deleteOrder', ['id']],
      ['older', ['id']],
    ]);
  });

  it('to another file makes the whole document unusable, for that reason alone', async () => {
    const document = documentOf({
      '/orders': { get: { $ref: 'resources/listOrders.yml' }, post: { $ref: 'resources/createOrder.yml' } },
      '/people': { $ref: 'https://example.com/people.yml' },
    });
    expect(await problemsOf(document, { listOrders: {}, 'POST /orders': {} })).toEqual([
      'tools[0].openapi shop.openapi, line 9, refers to another file, `resources/listOrders.yml`, and 2 more of its paths refer to others: only references within the document are followed',
    ]);
  });
});

describe('the effect of an operation', () => {
  it('is the one that the entry says, so that a search with POST needs no confirmation', async () => {
    const tools = await toolsOf(SHOP, { createOrder: { effect: 'read' }, listOrders: { effect: 'write' } });
    expect(tools.map(({ effect, confirm, credentials }) => [effect, confirm, credentials])).toEqual([
      ['read', 'never', 'user-or-default'],
      ['write', 'always', 'user'],
    ]);
  });

  it('cannot be `read` for a method that always changes something', async () => {
    expect(await problemsOf(SHOP, { cancelOrder: { effect: 'read' } })).toEqual([
      'tools[0].operations.cancelOrder.effect is `read`, but a DELETE request changes something',
    ]);
  });
});

describe('a key that names no operation', () => {
  it('is refused with the nearest names', async () => {
    const entry = entryOf(SHOP, { listOrder: {}, 'GET /order/{id}': {}, 'TRACE /orders': {} });
    const { problems } = await readEntry(entry);
    expect(problems.map(({ setting, source, problem }) => [setting, source, problem])).toEqual(
      Object.keys(entry.operations).map((key) => [
        `tools[0].operations.${key}`,
        'agentd.yaml, line 5',
        `is not an operation of the document ${entry.path}`,
      ]),
    );
    expect(problems.map(({ right }) => right.split('; ')[1])).toEqual([
      'nearest: listOrders',
      'nearest: GET /orders/{id}, GET /orders, DELETE /orders/{id}',
      'nearest: HEAD /orders, GET /orders, POST /orders',
    ]);
  });

  it('is reported together with the problems of other operations', async () => {
    const document = documentOf({
      '/a': { post: { operationId: 'a', requestBody: { content: { 'multipart/mixed': {} } }, ...OK } },
    });
    const problems = await problemsOf(document, { missing: {}, a: {} });
    expect(problems).toEqual([
      expect.stringMatching(/^tools\[0\]\.operations\.missing is not an operation/),
      expect.stringMatching(/^tools\[0\]\.operations\.a .* takes a body of multipart\/mixed/),
    ]);
  });

  it('is refused if several operations have it as their operationId', async () => {
    const get = { operationId: 'same', ...OK };
    const document = documentOf({ '/a': { get }, '/b': { get } });
    expect(await problemsOf(document, { same: {} })).toEqual([
      'tools[0].operations.same is the operationId of several operations shop.openapi',
    ]);
    expect(await problemsOf(document, { 'GET /a': { as: 'one' }, 'GET /b': { as: 'two' } })).toEqual([]);
  });
});

describe('the name of a tool', () => {
  it('is refused if it has more than 64 characters, unless `as` renames the tool', async () => {
    const long = 'x'.repeat(60);
    const document = documentOf({ '/a': { get: { operationId: long, ...OK } } });
    expect(await problemsOf(document, { [long]: {} })).toEqual([
      `tools[0].operations.${long} is a name of more than 64 characters`,
    ]);
    expect(await problemsOf(document, { [long]: { as: 'short' } })).toEqual([]);
    expect((await toolsOf(document, { [long]: {} }, { name: 'abc' }))[0]?.name).toBe(`abc_${long}`);
  });

  it('is refused if two operations would have it', async () => {
    const document = documentOf({
      '/a': { get: { operationId: 'a.b', ...OK }, post: { operationId: 'a/b', ...OK } },
    });
    expect(await problemsOf(document, { 'a.b': {}, 'a/b': {} })).toEqual([
      'tools[0].openapi makes several tools with the name shop_a_b: GET /a, POST /a',
    ]);
    expect(await problemsOf(document, { 'a.b': {}, 'a/b': { as: 'other' } })).toEqual([]);
  });
});

it('a summary that names an unknown argument is refused', async () => {
  const operation = {
    operationId: 'a',
    parameters: [ID],
    requestBody: json({ type: 'object', properties: { note: {}, owner: {} } }),
    ...OK,
  };
  const document = documentOf({ '/a/{id}': { post: operation } });
  const withSummary = (summary: string) =>
    problemsOf(document, { a: { summary, bind: { 'body.owner': 'sub' } } });
  expect(await withSummary('Do {id} with {body.note} for {body.owner}')).toEqual([]);
  expect(await withSummary('Do {body} and {body.note.text}')).toEqual([]);
  expect(await withSummary('Do {orderId}')).toEqual([
    'tools[0].operations.a.summary names `{orderId}`, which is not a parameter of the operation',
  ]);
  expect(await withSummary('Do {body.notes}')).toEqual([
    'tools[0].operations.a.summary names `{body.notes}`, which is not a parameter of the operation',
  ]);
  const { problems } = await readEntry(entryOf(document, { a: { summary: 'Do {note}' } }));
  expect(problems).toMatchObject([{ right: 'one of id, body.note, body.owner, in braces' }]);
});

it('a summary may name a body without fields, and its parts', async () => {
  const operation = { operationId: 'a', requestBody: json({ type: 'object' }), ...OK };
  const document = documentOf({ '/a': { post: operation } });
  expect(await problemsOf(document, { a: { summary: 'Do {body} with {body.note}' } })).toEqual([]);
  const { problems } = await readEntry(entryOf(document, { a: { summary: 'Do {note}' } }));
  expect(problems).toMatchObject([{ right: 'one of body, in braces' }]);
});

it('a condition for a confirmation on an unknown argument is refused', async () => {
  const operation = {
    operationId: 'a',
    parameters: [ID],
    requestBody: json({ type: 'object', properties: { amount: {}, owner: {} } }),
    ...OK,
  };
  const document = documentOf({ '/a/{id}': { post: operation } });
  const problems = (...names: string[]) => {
    const when = names.map((argument) => ({ argument, over: 100 }));
    return problemsOf(document, { a: { confirm: { when }, bind: { 'body.owner': 'sub' } } });
  };
  expect(await problems('id', 'body.amount', 'body.owner')).toEqual([]);
  expect(await problems('amount', 'body.total')).toEqual([
    'tools[0].operations.a.confirm names `amount`, which is not an argument of the operation',
    'tools[0].operations.a.confirm names `body.total`, which is not an argument of the operation',
  ]);
});

it('an operation without arguments has no condition for a confirmation', async () => {
  const document = documentOf({ '/a': { post: { operationId: 'a', ...OK } } });
  const confirm = { when: [{ argument: 'amount', over: 100 }] };
  const { problems } = await readEntry(entryOf(document, { a: { confirm } }));
  expect(problems).toMatchObject([{ right: 'always or never: the operation has no arguments' }]);
});

describe('an OpenAPI document', () => {
  it.each([
    ['openapi: 3.0.0\npaths: {}', []],
    ['\ufeff{"openapi": "3.1.0", "paths": {}}', []],
    ['openapi: 3.1.2\npaths: &p {}\nx: {<<: *p}', []],
    ['swagger: "2.0"\npaths: {}', ['tools[0].openapi shop.openapi: #/swagger is a Swagger 2.0 document']],
    [
      'openapi: 3.2.0\npaths: {}',
      ['tools[0].openapi shop.openapi: #/openapi has the OpenAPI version "3.2.0"'],
    ],
    ['paths: {}', ['tools[0].openapi shop.openapi: #/openapi has no `openapi`, which names the version']],
    ['openapi: 3.0.0', ['tools[0].openapi shop.openapi: #/paths has no `paths`']],
    ['- 1', ['tools[0].openapi shop.openapi is not an object at its top level']],
    [
      'openapi: 3.0.0\nx: &x { a: *x }\npaths: {}',
      ['tools[0].openapi shop.openapi contains a value that refers to itself'],
    ],
    [
      'openapi: 3.0.0\npaths:\n  a: [',
      [
        'tools[0].openapi shop.openapi, line 3, cannot be parsed: unexpected end of the stream within a flow collection',
      ],
    ],
    [
      '{\n"openapi": "3.0.0",\n"paths": {}}}',
      [
        'tools[0].openapi shop.openapi, line 3, cannot be parsed: end of the stream or a document separator is expected',
      ],
    ],
  ])('is read as JSON or YAML, and its problems are reported: %j', async (text, problems) => {
    expect(await problemsOf(text, {})).toEqual(problems);
  });

  it('must be an existing file', async () => {
    const entry = entryOf(SHOP, {});
    const missing = { ...entry, path: join(dirname(entry.path), 'missing.yaml') };
    expect((await readEntry(missing)).problems).toMatchObject([
      { setting: 'tools[0].openapi', problem: `${missing.path} does not exist` },
    ]);
    expect((await readEntry({ ...entry, path: dirname(entry.path) })).problems).toMatchObject([
      { problem: `${dirname(entry.path)} is not a file` },
    ]);
  });

  it('is checked only in the parts that its tools use, and the line of each mistake is reported', async () => {
    const text = `openapi: 3.0.3
paths:
  /a:
    get:
      operationId: a
      parameters:
        - name: limit
          in: query
          schema: { type: integr }
        - name: other
          in: nowhere
          schema: {}
      responses: 7
  /b:
    get:
      operationId: b
      responses: {}
      parameters: nonsense
`;
    expect(await problemsOf(text, { a: {} })).toEqual([
      'tools[0].openapi shop.openapi, line 9: #/paths/~1a/get/parameters/0/schema/type must be one of array, boolean, integer, number, object, string',
      'tools[0].openapi shop.openapi, line 11: #/paths/~1a/get/parameters/1/in must be one of path, query, header, cookie',
    ]);
    expect(await problemsOf(text, { b: {} })).toEqual([
      'tools[0].openapi shop.openapi, line 18: #/paths/~1b/get/parameters must be array',
    ]);
  });

  it.each(['3.0.3', '3.1.0'])('with the version %s and an invalid parameter is refused', async (openapi) => {
    const document = documentOf(
      { '/a': { get: { operationId: 'a', parameters: [{ in: 'query' }], ...OK } } },
      { openapi },
    );
    const [problem] = await problemsOf(document, { a: {} });
    expect(problem).toMatch(
      /^tools\[0\]\.openapi shop\.openapi, line \d+: #\/paths\/~1a\/get\/parameters\/0/,
    );
  });
});

describe('a `$ref`', () => {
  const referring = (reference: unknown, components: object = {}) =>
    documentOf(
      {
        '/a': {
          get: {
            operationId: 'a',
            parameters: [{ name: 'q', in: 'query', schema: { $ref: reference } }],
            ...OK,
          },
        },
      },
      { components },
    );

  it('is followed wherever it points within the document', async () => {
    const document = documentOf(
      {
        '/a/{id}': {
          parameters: [{ $ref: '#/components/parameters/Id' }],
          put: { operationId: 'a', requestBody: { $ref: '#/components/requestBodies/A' }, ...OK },
        },
        '/b': {
          post: { operationId: 'b', requestBody: { $ref: '#/paths/~1a~1%7Bid%7D/put/requestBody' }, ...OK },
        },
      },
      {
        components: {
          parameters: { Id: ID },
          requestBodies: { A: json({ $ref: '#/components/schemas/A' }) },
          schemas: { A: { type: 'object', properties: { n: { type: 'integer' } } } },
        },
      },
    );
    const tools = await toolsOf(document, { a: {}, b: {} });
    const body = { type: 'object', properties: { n: { type: 'integer' } } };
    expect(tools.map(({ parameters }) => parameters.properties)).toEqual([
      { id: { type: 'string' }, body },
      { body },
    ]);
  });

  it('is refused if it points to another file or address, which is not opened', async () => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests++;
      response.end('{"type":"string"}');
    });
    await listenOnFreePort(server);
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    for (const reference of [
      'secret.json',
      './secret.json#/a',
      '/etc/passwd',
      'file:///etc/passwd',
      `http://127.0.0.1:${port}/schema.json`,
      `//127.0.0.1:${port}/schema.json`,
    ]) {
      const entry = entryOf(referring(reference), { a: {} });
      writeFileSync(
        join(dirname(entry.path), 'secret.json'),
        '{"type":"string","description":"from the file"}',
      );
      const { tools, problems } = await readEntry(entry);
      expect(tools).toEqual([]);
      expect(problems).toHaveLength(1);
      expect(problems[0]?.problem).toContain(`refers to \`${reference}\`, which is outside of the document`);
    }
    expect(requests).toBe(0);
  });

  it.each([
    [
      '#/components/schemas/Missing',
      'refers to `#/components/schemas/Missing`, which is not in the document',
    ],
    [
      '#/components/schemas/constructor',
      'refers to `#/components/schemas/constructor`, which is not in the document',
    ],
    ['#anchor', 'refers to `#anchor`, which is not in the document'],
    [7, 'has a `$ref` that is not a text'],
    ['#/components/schemas/A', 'refers to itself'],
  ])('is refused if it is %j, because it has no usable target', async (reference, problem) => {
    const document = referring(reference, {
      schemas: { A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } },
    });
    const problems = await problemsOf(document, { a: {} });
    expect(problems[0]).toContain(problem);
  });

  it('may be the name of a property, or a part of an example', async () => {
    const schema = {
      type: 'object',
      properties: {
        $ref: { type: 'string' },
        properties: { type: 'object', properties: { $ref: { type: 'string' } } },
      },
      example: { $ref: 'https://elsewhere.example' },
    };
    const document = documentOf({ '/a': { post: { operationId: 'a', requestBody: json(schema), ...OK } } });
    const [tool] = await toolsOf(document, { a: {} });
    expect(tool?.parameters.properties).toEqual({ body: { type: 'object', properties: schema.properties } });
  });
});

describe('the schema of the arguments of a tool', () => {
  async function schemaOf(
    operation: object,
    bind: Record<string, string> = {},
    rest: object = {},
    more = {},
  ) {
    const document = documentOf(
      { '/a/{id}': { parameters: [ID], post: { operationId: 'a', ...operation, ...OK } } },
      rest,
    );
    const [tool] = await toolsOf(document, { a: { bind } }, more);
    return tool?.parameters;
  }

  const inQuery = (name: string, schema: object, rest: object = {}) => ({
    name,
    in: 'query',
    schema,
    ...rest,
  });

  it('has the parameters at the top level and the body as `body`, and accepts no others', async () => {
    const schema = {
      type: 'object',
      title: 'Order',
      description: 'What to order.',
      properties: {
        size: { type: 'string', enum: ['s', 'm'], default: 'm', example: 's', 'x-internal': 1 },
        at: {
          type: 'string',
          format: 'date-time',
          minLength: 3,
          pattern: '^\\d',
          externalDocs: { url: 'https://x' },
        },
      },
      required: ['size'],
    };
    const found = await schemaOf({
      parameters: [
        inQuery(
          'limit',
          { type: 'integer', minimum: 1, maximum: 9, default: 5 },
          { description: 'How many.' },
        ),
        {
          name: 'X-Mode',
          in: 'header',
          required: true,
          schema: { type: 'string', description: 'Own.' },
          description: 'Other.',
        },
      ],
      requestBody: json(schema, { required: true, description: 'The order.' }),
    });
    expect(found).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        limit: { type: 'integer', minimum: 1, maximum: 9, default: 5, description: 'How many.' },
        'X-Mode': { type: 'string', description: 'Own.' },
        body: {
          type: 'object',
          title: 'Order',
          description: 'What to order.',
          properties: {
            size: { type: 'string', enum: ['s', 'm'], default: 'm' },
            at: { type: 'string', format: 'date-time', minLength: 3, pattern: '^\\d' },
          },
          required: ['size'],
        },
      },
      required: ['id', 'X-Mode', 'body'],
      additionalProperties: false,
    });
  });

  it('prefers a parameter of the operation to a parameter of its path with the same name', async () => {
    const found = await schemaOf({ parameters: [{ ...ID, schema: { type: 'integer' } }] });
    expect(found?.properties).toEqual({ id: { type: 'integer' } });
  });

  it('adds the location as a suffix to the second parameter with the same name, and to a parameter named `body`', async () => {
    const found = await schemaOf({
      parameters: [
        { name: 'id', in: 'header', schema: { type: 'boolean' } },
        inQuery('id', { type: 'integer' }),
        inQuery('body', { type: 'number' }),
      ],
      requestBody: json({ type: 'object' }),
    });
    expect(found?.properties).toEqual({
      id: { type: 'string' },
      id_header: { type: 'boolean' },
      id_query: { type: 'integer' },
      body_query: { type: 'number' },
      body: { type: 'object' },
    });
  });

  it('omits headers that no tool may set, headers that the entry sets, and all cookies', async () => {
    const header = (name: string, required = false) => ({
      name,
      in: 'header',
      required,
      schema: { type: 'string' },
    });
    const parameters = [
      header('authorization', true),
      header('Accept', true),
      header('Content-Type', true),
      header('Cookie'),
      header('Host'),
      header('Connection'),
      header('X-API-KEY', true),
      header('X-Free'),
      { name: 'session', in: 'cookie', schema: { type: 'string' } },
    ];
    const found = await schemaOf({ parameters }, {}, {}, { headers: { 'X-Api-Key': 'k' } });
    expect(found?.properties).toEqual({ id: { type: 'string' }, 'X-Free': { type: 'string' } });
  });

  it('omits the header or the cookie that carries the credential of the source, even if it is required', async () => {
    const parameter = (name: string, place: string) => ({
      name,
      in: place,
      required: true,
      schema: { type: 'string' },
    });
    const document = (parameters: object[]) =>
      documentOf({ '/a': { get: { operationId: 'a', parameters, ...OK } } });
    const header = document([parameter('X-USER-Token', 'header')]);
    const [one] = await toolsOf(header, { a: {} }, { credential: { header: 'X-User-Token', scheme: null } });
    expect(one?.parameters.properties).toEqual({});
    const [two] = await toolsOf(
      document([parameter('session', 'cookie')]),
      { a: {} },
      { credential: { cookie: 'session' } },
    );
    expect(two?.parameters.properties).toEqual({});
    expect(
      await problemsOf(
        document([parameter('other', 'cookie')]),
        { a: {} },
        { credential: { cookie: 'session' } },
      ),
    ).toEqual([expect.stringContaining('requires the cookie `other`')]);
  });

  it('keeps the features of JSON Schema in OpenAPI 3.1', async () => {
    const schema = {
      type: ['object', 'null'],
      properties: {
        kind: { const: 'a' },
        list: { type: 'array', prefixItems: [{ type: 'string' }, true], items: false },
      },
      if: { properties: { kind: { const: 'b' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['list'] },
      patternProperties: { '^x-': { $ref: '#/components/schemas/S', description: 'With siblings.' } },
      unevaluatedProperties: false,
      dependentRequired: { list: ['kind'] },
    };
    const components = { schemas: { S: { type: 'string', $id: 'https://x.example/s', examples: ['x'] } } };
    const found = await schemaOf({ requestBody: json(schema) }, {}, { openapi: '3.1.0', components });
    expect(found?.properties).toMatchObject({
      body: {
        ...schema,
        patternProperties: { '^x-': { allOf: [{ type: 'string' }], description: 'With siblings.' } },
      },
    });
  });

  it('defines recursive schemas, and schemas that are used twice, only once', async () => {
    const components = {
      schemas: {
        'Node.v1': {
          type: 'object',
          properties: {
            label: { $ref: '#/components/schemas/Label' },
            children: { type: 'array', items: { $ref: '#/components/schemas/Node.v1' } },
          },
          required: ['label'],
        },
        Label: { type: 'string', maxLength: 3 },
      },
    };
    const parameters = [
      inQuery('label', { $ref: '#/components/schemas/Label' }, { description: 'To look for.' }),
    ];
    const requestBody = json({ $ref: '#/components/schemas/Node.v1' });
    const found = await schemaOf({ parameters, requestBody }, {}, { components });
    expect(found).toMatchObject({
      properties: {
        label: { $ref: '#/$defs/Label', description: 'To look for.' },
        body: { $ref: '#/$defs/Node.v1' },
      },
      $defs: {
        Label: { type: 'string', maxLength: 3 },
        'Node.v1': { properties: { children: { items: { $ref: '#/$defs/Node.v1' } } } },
      },
    });
    const body = { label: 'a', children: [{ label: 'b', children: [{ label: 'c' }] }] };
    expect(checkArguments(found ?? {}, { id: '1', body })).toMatchObject({ ok: true });
    const deep = { label: 'a', children: [{ label: 'b', children: [{ label: 'long' }] }] };
    expect(checkArguments(found ?? {}, { id: '1', body: deep })).toMatchObject({ ok: false });
  });

  it('gives two schemas of the same name different names', async () => {
    const twice = (reference: string) => ({
      type: 'array',
      prefixItems: [{ $ref: reference }, { $ref: reference }],
    });
    const components = {
      schemas: { A: { type: 'string' } },
      parameters: { A: inQuery('x', { type: 'integer' }) },
    };
    const found = await schemaOf(
      {
        parameters: [
          inQuery('p', twice('#/components/schemas/A')),
          inQuery('q', twice('#/components/parameters/A/schema')),
          inQuery('r', { $ref: '#/components/parameters/A/schema' }),
          inQuery('s', twice('#/components/schemas/O/properties/a~1b')),
          inQuery('t', twice('#/components/schemas/O/properties/a b')),
        ],
      },
      {},
      {
        openapi: '3.1.0',
        components: {
          ...components,
          schemas: {
            ...components.schemas,
            O: { properties: { 'a/b': { type: 'null' }, 'a b': { type: 'boolean' } } },
          },
        },
      },
    );
    expect(found?.$defs).toEqual({
      A: { type: 'string' },
      schema: { type: 'integer' },
      a_b: { type: 'null' },
      a_b_2: { type: 'boolean' },
    });
  });

  it('corrects patterns that are valid only without the flag `u`, and moves patterns of other dialects to the description', async () => {
    const found = await schemaOf({
      parameters: [
        inQuery('a', { type: 'string', pattern: '^[\\w\\-\\.]+\\@\\_x\\-$' }),
        inQuery('b', { type: 'string', pattern: '(?i)^x$', description: 'A word.' }),
      ],
    });
    expect(found?.properties).toMatchObject({
      a: { pattern: '^[\\w\\x2d\\.]+@_x\\x2d$' },
      b: { type: 'string', description: 'A word. Pattern: (?i)^x$' },
    });
    const check = (args: object) => checkArguments(found ?? {}, { id: '1', ...args });
    expect(check({ a: 'a-b.c@_x-' })).toMatchObject({ ok: true });
    expect(check({ a: 'a b@_x-' })).toMatchObject({ ok: false });
  });

  it('omits bound names, whether they are parameters or fields of the body', async () => {
    const components = {
      schemas: {
        Owned: {
          type: 'object',
          properties: { owner: { type: 'string' }, note: { type: 'string' } },
          required: ['owner'],
        },
      },
    };
    const requestBody = json(
      {
        allOf: [
          { $ref: '#/components/schemas/Owned' },
          { required: ['owner', 'n'], properties: { n: { $ref: '#/components/schemas/Owned' } } },
        ],
      },
      { required: true },
    );
    const found = await schemaOf(
      { parameters: [inQuery('tenant', { type: 'string' }, { required: true })], requestBody },
      { tenant: 'tenant_id', 'body.owner': 'sub', id: 'sub' },
      { components },
    );
    expect(found).toMatchObject({
      properties: {
        body: {
          allOf: [
            { type: 'object', properties: { note: { type: 'string' } } },
            // The bound `owner` is not removed from an object inside the body.
            { required: ['n'], properties: { n: { $ref: '#/$defs/Owned' } } },
          ],
        },
      },
      required: ['body'],
    });
    expect(Object.keys((found?.properties ?? {}) as object)).toEqual(['body']);
  });

  it('has no `body` if all fields of the body are bound', async () => {
    const requestBody = json(
      { type: 'object', properties: { owner: {} }, required: ['owner'] },
      { required: true },
    );
    const found = await schemaOf({ requestBody }, { 'body.owner': 'sub' });
    expect(found).toMatchObject({ properties: { id: {} }, required: ['id'] });
    expect(found?.properties).not.toHaveProperty('body');
  });

  it('refuses to bind a name that the operation does not have, and suggests the nearest name', async () => {
    const operation = {
      operationId: 'a',
      parameters: [inQuery('customer', {})],
      requestBody: json({ properties: { owner: {} } }),
      ...OK,
    };
    const document = documentOf({ '/a': { post: operation } });
    const entry = entryOf(document, { a: { bind: { custmer: 'sub' } } });
    expect((await readEntry(entry)).problems).toEqual([
      {
        setting: 'tools[0].operations.a.bind',
        value: null,
        source: 'agentd.yaml, line 5',
        problem: 'binds `custmer`, which is not a parameter of the operation',
        right: 'customer? one of customer, body.owner',
      },
    ]);
    expect(await problemsOf(document, { a: { bind: { 'body.custmer': 'sub' } } })).toHaveLength(1);
    expect(await problemsOf(document, { a: { bind: { owner: 'sub' } } })).toHaveLength(1);
  });

  it('is refused at start if it cannot be compiled', async () => {
    const document = documentOf(
      { '/a': { post: { operationId: 'a', requestBody: json({ type: 'sting' }), ...OK } } },
      { openapi: '3.1.0' },
    );
    const [problem] = await problemsOf(document, { a: {} });
    expect(problem).toContain('shop.openapi, line 9: #/paths/~1a/post has a schema that cannot be used');
  });

  it.each([
    ['as they are', {}],
    ['with fields that only answers have', { properties: { id: { type: 'string', readOnly: true } } }],
  ])('is refused at start if checking a value would take forever, with definitions %s', async (_, rest) => {
    const links = Array.from({ length: 40 }, (_link, n) => {
      const next = { $ref: `#/components/schemas/S${n + 1}` };
      return [`S${n}`, n === 39 ? { type: 'object' } : { allOf: [next, next], ...rest }];
    });
    const requestBody = json({ $ref: '#/components/schemas/S0' });
    const document = documentOf(
      { '/a': { post: { operationId: 'a', requestBody, ...OK } } },
      { components: { schemas: Object.fromEntries(links) } },
    );
    const problems = await problemsOf(document, { a: {} });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/has too many alternatives|is too large/);
  });

  it.each([
    ['a chain of 20,000 references', 20_000, (next: object) => next],
    ['schemas within 20,000 schemas', 20_000, (items: object) => ({ type: 'array', items })],
  ])('is refused at start if it is %s', async (_, length, link) => {
    const links = Array.from({ length }, (_link, n) => [
      `S${n}`,
      n === length - 1 ? { type: 'string' } : link({ $ref: `#/components/schemas/S${n + 1}` }),
    ]);
    const requestBody = json({ $ref: '#/components/schemas/S0' });
    const document = documentOf(
      { '/a': { post: { operationId: 'a', requestBody, ...OK } } },
      { components: { schemas: Object.fromEntries(links) } },
    );
    expect(await problemsOf(document, { a: {} })).not.toEqual([]);
  });
});

describe('the body of an operation', () => {
  const posting = (content: object, method = 'post', required = true) =>
    documentOf({ '/a': { [method]: { operationId: 'a', requestBody: { content, required }, ...OK } } });
  const schema = { type: 'object' };

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/merge-patch+json',
    'application/vnd.api+json',
    '*/*',
    'application/*',
  ])('may be %s', async (type) => {
    expect(await problemsOf(posting({ 'text/plain': { schema }, [type]: { schema } }), { a: {} })).toEqual(
      [],
    );
  });

  it('is omitted for a GET, which has no body, and for a DELETE if it is optional', async () => {
    for (const method of ['get', 'delete']) {
      const [tool] = await toolsOf(posting({ 'text/plain': { schema } }, method, false), { a: {} });
      expect(tool?.parameters.properties).toEqual({});
    }
    expect(await problemsOf(posting({ 'application/json': { schema } }, 'get'), { a: {} })).toEqual([
      'tools[0].operations.a shop.openapi, line 11: #/paths/~1a/get/requestBody requires a body, which a GET request does not have',
    ]);
  });

  it('may be any JSON', async () => {
    const [tool] = await toolsOf(posting({ 'application/json': {} }), { a: {} });
    expect(tool?.parameters).toMatchObject({ properties: { body: {} }, required: ['body'] });
  });
});

it('a path parameter of the entry must be one of the operation', async () => {
  const told = { parameters: { id: { allow_slash: true }, ids: {} } };
  expect(await problemsOf(SHOP, { cancelOrder: told, listOrders: told })).toEqual([
    'tools[0].operations.cancelOrder.parameters names `ids`, which is not a path parameter of the operation',
    'tools[0].operations.listOrders.parameters names `id`, which is not a path parameter of the operation',
    'tools[0].operations.listOrders.parameters names `ids`, which is not a path parameter of the operation',
  ]);
});

describe('the path of an operation', () => {
  const at = (path: string, parameters: object[] = []) =>
    documentOf({ [path]: { get: { operationId: 'a', parameters, ...OK } } });

  it.each([
    ['/a/{id}', [], 'has no path parameter `id`, which its path `/a/{id}` names'],
    ['/a', [ID], 'has a path parameter `id`, which its path `/a` does not name'],
    ['/a/../b', [], 'has the path `/a/../b`'],
    ['/a/%2e%2E/b', [], 'has the path `/a/%2e%2E/b`'],
    ['/a?x={x}', [], 'has no query parameter `x`, which its path `/a?x={x}` names'],
    ['/a?x={id}', [ID], 'has a path parameter `id`, which its path `/a?x={id}` does not name'],
    ['/a%3Fb', [], 'has the path `/a%3Fb`'],
    ['/a/%252e%252e/b', [], 'has the path `/a/%252e%252e/b`'],
    ['//evil.example/a', [], 'has the path `//evil.example/a`'],
    ['/a\\b', [], 'has the path `/a\\b`'],
  ])('such as %s is refused', async (path, parameters, problem) => {
    const [found] = await problemsOf(at(path, parameters), { a: {} });
    expect(found).toContain(problem);
  });
});
