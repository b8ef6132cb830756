import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { command as show } from '../../../../src/cli/commands/config-show.ts';
import {
  ConfigurationError,
  configure,
  inspectConfiguration,
  type SettingProblem,
} from '../../../../src/daemon/settings/configure/configure.ts';
import { settingsSchema } from '../../../../src/daemon/settings/json-schema.ts';
import { settingGroups } from '../../../../src/daemon/settings/reference.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import type { SourceEntry } from '../../../../src/daemon/tools/source-entry.ts';
import { capturedOutput } from '../../cli/captured-output.ts';
import { placeWith, VALID } from '../place.ts';

const API = { ...VALID, API_BASE_URL: 'https://api.example.com/v1' };

async function entriesOf(tools: string, env: Record<string, string> = {}): Promise<readonly SourceEntry[]> {
  return (await configure(placeWith({ ...API, ...env }, { 'agentd.yaml': tools }))).tools;
}

async function problemsOf(tools: string, env: Record<string, string> = {}): Promise<SettingProblem[]> {
  const found = await inspectConfiguration(placeWith({ ...API, ...env }, { 'agentd.yaml': tools }));
  return [...found.problems];
}

/**
 * Returns the problems of an OpenAPI source whose entry also has the lines `rest`, each as `setting problem`. Unless
 * `rest` sets `base_url`, the source has the origin of the API.
 */
async function openApiProblems(rest: string, env: Record<string, string> = {}): Promise<string[]> {
  const tools = `tools:\n  - openapi: ./shop.yaml\n    name: shop\n${rest.replace(/^(?=.)/gm, '    ')}`;
  return (await problemsOf(tools, env)).map(({ setting, problem }) => `${setting} ${problem}`);
}

const OPERATIONS = 'operations: { listOrders: {} }';

describe('the sources of tools', () => {
  it('are read with all keys of their entries', async () => {
    const place = placeWith(
      { ...API, SHOP_KEY: 'k-1' },
      {
        '.env': 'SHOP_TOKEN=t-2',
        token: 'c-3\n',
        'agentd.yaml': `SHOP_CLIENT_FILE: ./token
tools:
  - openapi: ./shop.openapi.yaml
    name: shop
    credentials: user-or-default
    operations:
      listOrders: { bind: { customer: sub }, public: [] }
      GET /products/{id}: { public: all, as: product, confirm: never }
      cancelOrder:
        summary: 'Cancel order {id}'
        idempotency_header: Idempotency-Key
        credentials: user
        idempotent: true
      ping:
  - openapi: /srv/reports.json
    name: reports
    base_url: https://reports.example.org
    secrets: [SHOP_KEY, SHOP_CLIENT]
    headers: { X-Api-Key: 'key-\${SHOP_KEY}', X-Plain: plain }
    exchange: { url: https://login.example.org/token, client_id: agentd, client_secret: '\${SHOP_CLIENT}', audience: reports }
    operations: { getReport: {} }
  - mcp: https://docs.example.com/mcp
    name: docs
    credentials: user
    list_credentials: headers
    headers: { Authorization: 'Bearer \${SHOP_KEY}' }
    secrets: [SHOP_KEY]
    timeout_seconds: 300
    tools: { search: { effect: read } }
  - command: [node, server.js, '']
    name: local
    timeout_seconds: 20
    secrets: [SHOP_TOKEN]
    env: { TOKEN: '\${SHOP_TOKEN}', EMPTY: '' }
    tools: { run: }
  - module: ./tools/refund.ts
`,
      },
    );
    const { tools, effective } = await configure(place);
    expect(tools).toEqual([
      {
        kind: 'openapi',
        location: 'tools[0] (agentd.yaml, line 3)',
        locations: {
          document: { setting: 'tools[0].openapi', source: 'agentd.yaml, line 3' },
          operations: {
            listOrders: { setting: 'tools[0].operations.listOrders', source: 'agentd.yaml, line 7' },
            'GET /products/{id}': {
              setting: 'tools[0].operations["GET /products/{id}"]',
              source: 'agentd.yaml, line 8',
            },
            cancelOrder: { setting: 'tools[0].operations.cancelOrder', source: 'agentd.yaml, line 9' },
            ping: { setting: 'tools[0].operations.ping', source: 'agentd.yaml, line 14' },
          },
        },
        path: join(place.cwd, 'shop.openapi.yaml'),
        name: 'shop',
        base_url: 'https://api.example.com/v1',
        credentials: 'user-or-default',
        headers: {},
        operations: {
          listOrders: { bind: { customer: 'sub' }, public: [] },
          'GET /products/{id}': { public: 'all', as: 'product', confirm: 'never' },
          cancelOrder: {
            summary: 'Cancel order {id}',
            idempotency_header: 'Idempotency-Key',
            credentials: 'user',
            idempotent: true,
          },
          ping: {},
        },
      },
      {
        kind: 'openapi',
        location: 'tools[1] (agentd.yaml, line 15)',
        locations: {
          document: { setting: 'tools[1].openapi', source: 'agentd.yaml, line 15' },
          operations: {
            getReport: { setting: 'tools[1].operations.getReport', source: 'agentd.yaml, line 21' },
          },
        },
        path: '/srv/reports.json',
        name: 'reports',
        base_url: 'https://reports.example.org',
        credentials: 'exchange',
        headers: { 'X-Api-Key': 'key-k-1', 'X-Plain': 'plain' },
        secrets: [expect.any(Secret), expect.any(Secret)],
        exchange: {
          url: 'https://login.example.org/token',
          client_id: 'agentd',
          client_secret: 'c-3',
          audience: 'reports',
        },
        operations: { getReport: {} },
      },
      {
        kind: 'mcp',
        location: 'tools[2] (agentd.yaml, line 22)',
        server: { url: 'https://docs.example.com/mcp' },
        name: 'docs',
        credentials: 'user',
        list_credentials: 'headers',
        headers: { Authorization: 'Bearer k-1' },
        secrets: [expect.any(Secret)],
        timeout_seconds: 300,
        tools: { search: { effect: 'read' } },
      },
      {
        kind: 'mcp',
        location: 'tools[3] (agentd.yaml, line 30)',
        server: { command: ['node', 'server.js', ''], env: { TOKEN: 't-2', EMPTY: '' } },
        name: 'local',
        credentials: 'none',
        headers: {},
        secrets: [expect.any(Secret)],
        timeout_seconds: 20,
        tools: { run: {} },
      },
      {
        kind: 'module',
        location: 'tools[4] (agentd.yaml, line 36)',
        module: './tools/refund.ts',
        folder: place.cwd,
      },
    ]);
    const secrets = tools.flatMap((entry) => ('secrets' in entry ? [entry.secrets] : []));
    expect(secrets.map((listed) => listed?.map((secret) => secret.reveal()))).toEqual([
      ['k-1', 'c-3'],
      ['k-1'],
      ['t-2'],
    ]);
    expect(effective.filter(({ record }) => record.name.startsWith('SHOP_'))).toMatchObject([
      { record: { name: 'SHOP_KEY' }, source: 'environment', shown: '[secret]' },
      { record: { name: 'SHOP_CLIENT' }, source: 'agentd.yaml, SHOP_CLIENT_FILE', shown: '[secret]' },
      { record: { name: 'SHOP_TOKEN' }, source: '.env', shown: '[secret]' },
    ]);
  });

  it.each(['', 'tools:\n', 'tools: []\n'])('may be missing: %j', async (text) => {
    expect(await entriesOf(`PORT: 1\n${text}`)).toEqual([]);
  });

  it('are read from a configuration file that is a program, without line numbers', async () => {
    const place = placeWith(API, {
      'agentd.config.js': 'export default { tools: [{ module: "./a.ts" }, { modul: "x" }] };',
      'package.json': '{"type":"module"}',
    });
    const { tools, problems } = await inspectConfiguration(place);
    expect(tools).toMatchObject([{ location: 'tools[0] (agentd.config.js)' }]);
    expect(problems).toMatchObject([{ setting: 'tools[1]', source: 'agentd.config.js' }]);
  });

  it('have all their problems reported at once, with entry, key, line and a correct value', async () => {
    const place = placeWith(API, {
      'agentd.yaml': `tools:
  - openapi: ./shop.yaml
    nam: shop
    operations:
      listOrders: { publik: all, credentials: me }
  - mcp: ftp://docs.example.com
    name: docs
    tools: {}
`,
    });
    const error = await configure(place).catch((reason: unknown) => reason as ConfigurationError);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).message).toBe(
      `the configuration has 6 problems:

  tools[0].nam (agentd.yaml, line 3)
    wrong: is not a known key
    right: name? one of openapi, name, base_url, credentials, credential, exchange, headers, secrets, operations

  tools[0].name (agentd.yaml, line 2)
    wrong: is not set
    right: a short name, the prefix of the names of its tools

  tools[0].operations.listOrders.publik (agentd.yaml, line 5)
    wrong: is not a known key
    right: public? one of as, effect, credentials, confirm, confirm_label, summary, public, bind, hide, idempotent, idempotency_header, parameters

  tools[0].operations.listOrders.credentials=me (agentd.yaml, line 5)
    wrong: is not one of the known values
    right: one of user-or-default, user, default, none, exchange

  tools[1].mcp (agentd.yaml, line 6)
    wrong: is not an http or https address
    right: an http or https address without credentials and fragment

  tools[1].tools (agentd.yaml, line 8)
    wrong: is empty
    right: at least one, such as { search: { effect: read } }; only what is listed becomes a tool`,
    );
  });

  it.each([
    ['tools: shop', 'tools is not a list'],
    ['tools: [shop]', 'tools[0] has no key that says what kind of source it is'],
    ['tools: [{ name: x }]', 'tools[0] has no key that says what kind of source it is'],
    ['tools: [{ module: ./a.ts, mcp: "https://x.example" }]', 'tools[0] has the keys mcp and module'],
    ['tools: [{ module: 3 }]', 'tools[0].module is a number; put it in quotes'],
    ['tools: [{ module: ./a.ts, name: x }]', 'tools[0].name is not a known key'],
    ['tools: [{ command: node x, name: x, tools: { a: } }]', 'tools[0].command is not a list'],
    ['tools: [{ command: [], name: x, tools: { a: } }]', 'tools[0].command does not name a program'],
    [
      'tools: [{ command: [a, 3], name: x, tools: { a: } }]',
      'tools[0].command[1] is a number; put it in quotes',
    ],
    [
      'tools: [{ command: [a], env: { A: true }, name: x, tools: { a: } }]',
      'tools[0].env.A is a boolean; put it in quotes',
    ],
    [
      'tools: [{ command: [a], env: { A=B: x }, name: x, tools: { a: } }]',
      'tools[0].env["A=B"] is not the name of a variable',
    ],
    [
      'tools: [{ command: [a], headers: { A: x }, name: x, tools: { a: } }]',
      'tools[0].headers is not a known key',
    ],
    [
      'tools: [{ mcp: "https://u:p@x.example", name: x, tools: { a: } }]',
      'tools[0].mcp contains credentials',
    ],
    ['tools: [{ mcp: "https://x.example", name: x }]', 'tools[0].tools is not set'],
    ['tools: [{ mcp: "https://x.example", name: x, tools: [] }]', 'tools[0].tools is not an object'],
    [
      'tools: [{ mcp: "https://x.example", name: x, exchange: [], credentials: exchange, tools: { a: } }]',
      'tools[0].exchange is not an object',
    ],
    ['tools: [{ module: ./a.ts, credential: [] }]', 'tools[0].credential is not an object'],
    [
      'tools: [{ mcp: "https://x.example", name: x, timeout_seconds: 601, tools: { a: } }]',
      'tools[0].timeout_seconds is not one of the possible numbers',
    ],
    [
      'tools: [{ mcp: "https://x.example", name: x, list_credentials: user, tools: { a: } }]',
      'tools[0].list_credentials is not one of the known values',
    ],
    [
      'tools: [{ mcp: "https://x.example", name: x, list_credentials: headers, tools: { a: } }]',
      'tools[0].list_credentials needs the key `headers` of the entry',
    ],
    [
      'tools: [{ mcp: "https://x.example", name: x, list_credentials: exchange, tools: { a: } }]',
      'tools[0].list_credentials needs the key `exchange` of the entry',
    ],
    [
      'tools: [{ command: [a], list_credentials: headers, name: x, tools: { a: } }]',
      'tools[0].list_credentials is not a known key',
    ],
    [
      `tools: [{ mcp: "http://x.example", name: x, list_credentials: exchange, credentials: none, exchange: ${LOGIN}, tools: { a: } }]`,
      'tools[0].list_credentials sends a token to an address that is not https, where it can be read on the way',
    ],
    [
      'tools: [{ mcp: "https://x.example", name: x, tools: { a: { idempotency_header: K } } }]',
      'tools[0].tools.a.idempotency_header is not a known key',
    ],
  ])('are refused: %s', async (text, problem) => {
    expect((await problemsOf(text)).map((found) => `${found.setting} ${found.problem}`)).toEqual([problem]);
  });

  it('must have unique names', async () => {
    const text = `tools:
  - { openapi: a, name: shop, ${OPERATIONS} }
  - { mcp: 'https://x.example', name: shop, tools: { a: } }
  - { command: [node], name: other, tools: { a: } }`;
    expect(await problemsOf(text)).toMatchObject([
      { setting: 'tools[1].name', value: 'shop', problem: 'is also the name of tools[0]' },
    ]);
  });

  it.each([
    ['operations: { a: { as: "no spaces" } }', 'as is not a name that a model can call'],
    [`operations: { a: { as: ${'x'.repeat(65)} } }`, 'as is not a name that a model can call'],
    ['operations: { a: { effect: search } }', 'effect is not one of the known values'],
    ['operations: { a: { confirm: sometimes } }', 'confirm is not one of the known values'],
    [
      'operations: { a: { confirm: { when: [] } } }',
      'confirm.when is not a list with at least one condition',
    ],
    [
      'operations: { a: { confirm: { when: [{ argument: x, over: 1 }, { argument: x, over: a }] } } }',
      'confirm.when[1].over is not a number',
    ],
    ['operations: { a: { confirm: { when: [{ argument: x }] } } }', 'confirm.when[0] has no condition'],
    ['operations: { a: { summary: 3 } }', 'summary is a number; put it in quotes'],
    [
      'operations: { a: { confirm_label: Cancel this whole order } }',
      'confirm_label does not fit on a button',
    ],
    ['operations: { a: { confirm_label: "a\\nb" } }', 'confirm_label does not fit on a button'],
    ['operations: { a: { public: name } }', 'public is not a list'],
    ['operations: { a: { public: [1] } }', 'public[0] is a number; put it in quotes'],
    ['operations: { a: { bind: sub } }', 'bind is not an object'],
    ['operations: { a: { bind: { customer: 1 } } }', 'bind.customer is a number; put it in quotes'],
    ['operations: { a: { bind: { body: sub } } }', 'bind.body is not the name of a parameter'],
    ['operations: { a: { bind: { body.: sub } } }', 'bind["body."] is not the name of a parameter'],
    ['operations: { a: { hide: customer } }', 'hide is not a list'],
    [
      'operations: { a: { hide: [customer] } }',
      'hide[0] is not a parameter that `bind` names, so the person must see it',
    ],
    [
      'operations: { a: { bind: { a: sub }, hide: [b] } }',
      'hide[0] is not a parameter that `bind` names, so the person must see it',
    ],
    ['operations: { a: { idempotent: always } }', 'idempotent is not a boolean'],
    [
      'operations: { a: { idempotency_header: "a b" } }',
      'idempotency_header is not a header that a tool may set',
    ],
    [
      'operations: { a: { idempotency_header: Host } }',
      'idempotency_header is not a header that a tool may set',
    ],
    [
      'operations: { a: { idempotency_header: X-HTTP-Method-Override } }',
      'idempotency_header is not a header that a tool may set',
    ],
    ['operations: { a: { parameters: [id] } }', 'parameters is not an object'],
    ['operations: { a: { parameters: { id: true } } }', 'parameters.id is not an object'],
    ['operations: { a: { parameters: { id: { slash: true } } } }', 'parameters.id.slash is not a known key'],
    [
      'operations: { a: { parameters: { id: { allow_slash: yes please } } } }',
      'parameters.id.allow_slash is not a boolean',
    ],
  ])('refuse an operation with %s', async (text, problem) => {
    expect(await openApiProblems(text)).toEqual([`tools[0].operations.a.${problem}`]);
  });

  it('say which path parameters of an operation may contain slashes', async () => {
    const [entry] = await entriesOf(
      'tools: [{ openapi: a, name: a, operations: { a: { parameters: { path: { allow_slash: true }, id: {} } } } }]',
    );
    expect(entry?.kind === 'openapi' && entry.operations).toEqual({
      a: { parameters: { path: { allow_slash: true }, id: {} } },
    });
  });

  it('may have fixed headers that a tool may not set, except those of the connection', async () => {
    expect(
      await openApiProblems(`headers: { X-Forwarded-Proto: https, As-User: '7' }\n${OPERATIONS}`),
    ).toEqual([]);
    expect(await openApiProblems(`headers: { Host: x }\n${OPERATIONS}`)).toEqual([
      'tools[0].headers.Host is not a header that an entry may set',
    ]);
  });

  it('treat names of the object prototype as plain names', async () => {
    const [entry] = await entriesOf(
      'tools: [{ mcp: "https://x.example", name: x, tools: { __proto__: { effect: read }, constructor: } }]',
    );
    expect(entry?.kind === 'mcp' && Object.entries(entry.tools)).toEqual([
      ['__proto__', { effect: 'read' }],
      ['constructor', {}],
    ]);
  });
});

/** The examples in agentd-agent(7) and agentd-settings(5). */
const EXAMPLES = ['agentd-agent.7', 'agentd-settings.5'].flatMap((page) =>
  [
    ...readFileSync(new URL(`../../../../man/${page}.md`, import.meta.url), 'utf8').matchAll(
      /^```yaml\n(.*?)^```/gms,
    ),
  ]
    .map(([, text = '']) => text)
    .filter((text) => /^tools:/m.test(text))
    .map((text) => [page, text] as const),
);

describe('the examples of the manual', () => {
  const schema = settingsSchema(settingGroups([])) as { properties: { tools: object } };
  const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(schema.properties.tools);

  it.each(EXAMPLES)('are valid, also according to the JSON Schema for editors: %s', async (_page, text) => {
    const tools = text.slice(text.search(/^tools:/m));
    const secrets = [...tools.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'x']);
    const { problems, tools: entries } = await inspectConfiguration(
      placeWith({ ...API, ...Object.fromEntries(secrets) }, { 'agentd.yaml': tools }),
    );
    expect(problems).toEqual([]);
    expect(entries.length).toBeGreaterThan(0);
    isValid((load(tools) as { tools: unknown }).tools);
    expect(isValid.errors).toBeNull();
  });

  it('are found by this test, and the JSON Schema refuses wrong entries', () => {
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(2);
    for (const wrong of [
      [{ openapi: './a.yaml', name: 'a' }],
      [{ openapi: './a.yaml', name: 'a', operations: { a: { effect: 'search' } } }],
      [{ mcp: 'https://x.example', name: 'a', tools: { a: { idempotency_header: 'X' } } }],
      [{ command: ['node'], name: 'a', credentials: 'user', tools: { a: null } }],
      [{ module: './a.ts', name: 'a' }],
      [
        {
          mcp: 'https://x.example',
          name: 'a',
          tools: { a: { confirm: { when: [{ argument: 'x', over: 'y' }] } } },
        },
      ],
    ])
      expect([wrong, isValid(wrong)]).toEqual([wrong, false]);
  });
});

describe('the address of an OpenAPI source', () => {
  it('must be set in base_url or API_BASE_URL', async () => {
    expect(await openApiProblems(OPERATIONS, { API_BASE_URL: '' })).toEqual([
      'tools[0].base_url is not set, and API_BASE_URL is not set either',
    ]);
  });

  it('is not reported twice if API_BASE_URL is wrong', async () => {
    expect(await openApiProblems(`credentials: default\n${OPERATIONS}`, { API_BASE_URL: 'x' })).toEqual([
      'API_BASE_URL is not an address',
    ]);
  });

  it.each([
    ['https://x.example/?a=1', 'has a query (?)'],
    ['"https://x.example/#a"', 'has a fragment (#)'],
    ['x.example', 'is not an http or https address'],
  ])('cannot be %s', async (url, problem) => {
    expect(await openApiProblems(`base_url: ${url}\n${OPERATIONS}`)).toEqual([
      `tools[0].base_url ${problem}`,
    ]);
  });
});

it('a call that may take longer than a run of the agent causes a warning', async () => {
  const warningsOf = async (seconds: number, run: string) => {
    const text = `tools: [{ command: [a], name: x, timeout_seconds: ${seconds}, tools: { a: } }]`;
    const env = { ...API, AGENT_TIMEOUT_SECONDS: run };
    return (await inspectConfiguration(placeWith(env, { 'agentd.yaml': text }))).warnings;
  };
  expect(await warningsOf(60, '60')).toEqual(await warningsOf(1, '60'));
  expect(await warningsOf(61, '60')).toContain(
    'tools[0] (agentd.yaml, line 1): `timeout_seconds` is 61, but AGENT_TIMEOUT_SECONDS ends a run after 60',
  );
});

/** An `exchange` whose secret is not one. */
const LOGIN = '{ url: "https://login.example/token", client_id: a, client_secret: b, audience: c }';

describe('the credentials of a source', () => {
  const FOREIGN = 'base_url: https://other.example.org';

  it.each(['user-or-default', 'default'])('may not be %s for another origin', async (policy) => {
    const problem = 'sends the default credentials, which are only for the origin of API_BASE_URL, and';
    expect(await openApiProblems(`${FOREIGN}\ncredentials: ${policy}\n${OPERATIONS}`)).toEqual([
      `tools[0].credentials ${problem} this source has another origin`,
    ]);
    expect(
      await openApiProblems(`${FOREIGN}\noperations: { a: { credentials: ${policy} } }`, {
        API_BASE_URL: '',
      }),
    ).toEqual([`tools[0].operations.a.credentials ${problem} API_BASE_URL is not set`]);
  });

  it('may be the default credentials at the origin of the API, with any path', async () => {
    const text = `base_url: https://API.example.com:443/other\ncredentials: default\n${OPERATIONS}`;
    expect(await openApiProblems(text)).toEqual([]);
  });

  it("may send the person's token elsewhere only over https or to this machine", async () => {
    const elsewhere = (url: string) => openApiProblems(`base_url: ${url}\ncredentials: user\n${OPERATIONS}`);
    expect(await elsewhere('https://other.example.org')).toEqual([]);
    expect(await elsewhere('http://127.0.0.1:9')).toEqual([]);
    const problem =
      "sends the person's token to an address that is not https, where it can be read on the way";
    expect(await elsewhere('http://other.example.org')).toEqual([`tools[0].credentials ${problem}`]);
    expect(
      await openApiProblems('base_url: http://other.example.org\noperations: { a: { credentials: user } }'),
    ).toEqual([`tools[0].operations.a.credentials ${problem}`]);
  });

  it('may be sent in another header, with another scheme, or in a cookie', async () => {
    const entries = await entriesOf(`tools:
  - { openapi: a, name: a, credential: { header: X-User-Token }, ${OPERATIONS} }
  - { openapi: a, name: b, credential: { header: authorization, scheme: Token }, ${OPERATIONS} }
  - { openapi: a, name: c, credential: { header: Authorization }, ${OPERATIONS} }
  - { mcp: 'https://x.example', name: d, credentials: user, credential: { cookie: session }, tools: { a: } }
  - { module: ./a.ts, credential: { header: X-User-Token } }
  - { openapi: a, name: e, ${OPERATIONS} }`);
    expect(entries.map((entry) => ('credential' in entry ? entry.credential : null))).toEqual([
      { header: 'X-User-Token', scheme: null },
      { header: 'authorization', scheme: 'Token' },
      { header: 'Authorization', scheme: 'Bearer' },
      { cookie: 'session' },
      { header: 'X-User-Token', scheme: null },
      null,
    ]);
  });

  it.each([
    ['{ query: token }', '.query would put the token into addresses, which servers and proxies log'],
    [
      '{ query: token, header: X-A }',
      '.query would put the token into addresses, which servers and proxies log',
    ],
    ['{}', ' is empty'],
    ['bearer', ' is not an object'],
    ['{ scheme: Token }', ' names neither a header nor a cookie'],
    ['{ header: X-A, cookie: b }', ' names a header and a cookie'],
    ['{ cookie: b, scheme: Token }', '.scheme belongs to a header, not to a cookie'],
    ['{ heder: X-A }', '.heder is not a known key'],
    ['{ header: 3 }', '.header is a number; put it in quotes'],
    ['{ header: Host }', '.header is not a header that can carry a credential'],
    ['{ header: Content-Type }', '.header is not a header that can carry a credential'],
    ['{ header: Content-MD5 }', '.header is not a header that can carry a credential'],
    ['{ header: Transfer-Encoding }', '.header is not a header that can carry a credential'],
    ['{ header: Accept }', '.header is not a header that can carry a credential'],
    ['{ header: traceparent }', '.header is not a header that can carry a credential'],
    ['{ header: X-Forwarded-User }', '.header is not a header that can carry a credential'],
    ['{ header: "X A" }', '.header is not a header that can carry a credential'],
    ['{ header: Cookie }', '.header needs the name of the cookie'],
    ['{ header: X-A, scheme: "To ken" }', '.scheme is not a scheme'],
    ['{ cookie: "a=b" }', '.cookie is not the name of a cookie'],
    ['{ cookie: "a;b" }', '.cookie is not the name of a cookie'],
  ])('cannot be sent as %s', async (credential, problem) => {
    const problems = await openApiProblems(`credential: ${credential}\n${OPERATIONS}`);
    expect(problems[0]).toBe(`tools[0].credential${problem}`);
  });

  it('may not be sent in a header that the entry or a key uses, and must be sent at all', async () => {
    expect(
      await openApiProblems(`credential: { header: X-Key }\nheaders: { x-key: a }\n${OPERATIONS}`),
    ).toEqual(['tools[0].headers.x-key is the header in which the credentials of this source are sent']);
    expect(
      await openApiProblems(`credential: { cookie: a }\nheaders: { Cookie: b=c }\n${OPERATIONS}`),
    ).toEqual(['tools[0].headers.Cookie is the header in which the credentials of this source are sent']);
    expect(
      await openApiProblems(
        'credential: { header: X-Key }\noperations: { a: { idempotency_header: X-KEY } }',
      ),
    ).toEqual([
      'tools[0].operations.a.idempotency_header is the header in which the credentials of this source are sent',
    ]);
    expect(
      await openApiProblems(`credential: { header: X-Key }\nheaders: { Authorization: a }\n${OPERATIONS}`),
    ).toEqual([]);
    expect(await openApiProblems(`credential: { header: X-Key }\ncredentials: none\n${OPERATIONS}`)).toEqual([
      'tools[0].credential has no effect: no tool of the entry has credentials',
    ]);
  });

  it('follow the same rules for MCP sources', async () => {
    const text = `tools:
  - { mcp: http://other.example.org, name: a, credentials: user, tools: { a: { credentials: default } } }
  - { command: [node], name: b, credentials: user, tools: { a: { credentials: none }, b: { credentials: user } } }`;
    expect((await problemsOf(text)).map(({ setting }) => setting)).toEqual([
      'tools[0].credentials',
      'tools[0].tools.a.credentials',
      'tools[1].credentials',
      'tools[1].tools.b.credentials',
    ]);
  });

  it('may not be combined with a fixed Authorization header', async () => {
    const headers = 'headers: { authorization: Basic abc }';
    const problem =
      'tools[0].headers.authorization is the header in which the credentials of this source are sent';
    expect(await openApiProblems(`${headers}\n${OPERATIONS}`)).toEqual([problem]);
    expect(await openApiProblems(`${headers}\ncredentials: none\n${OPERATIONS}`)).toEqual([]);
    expect(await openApiProblems(`${headers}\n${FOREIGN}\n${OPERATIONS}`)).toEqual([]);
    expect(await openApiProblems(`${headers}\n${FOREIGN}\ncredentials: user\n${OPERATIONS}`)).toEqual([
      problem,
    ]);
    expect(await openApiProblems(`${headers}\n${FOREIGN}\noperations: { a: { credentials: user } }`)).toEqual(
      [problem],
    );
  });
});

describe('the token exchange of a source', () => {
  const exchange = (url: string) =>
    `exchange: { url: "${url}", client_id: a, client_secret: b, audience: c }\n${OPERATIONS}`;

  it('needs https or a loopback address', async () => {
    expect(await openApiProblems(exchange('https://login.example.org/token'))).toEqual([]);
    expect(await openApiProblems(exchange('http://[::1]:8/token'))).toEqual([]);
    expect(await openApiProblems(exchange('http://login.example.org/token'))).toEqual([
      "tools[0].exchange.url is not https: the person's token could be read on the way",
    ]);
  });

  it('must be complete, and at least one tool must use it', async () => {
    expect(await openApiProblems(`exchange: { url: https://x.example, scope: y }\n${OPERATIONS}`)).toEqual([
      'tools[0].exchange.scope is not a known key',
      'tools[0].exchange.client_id is not set',
      'tools[0].exchange.client_secret is not set',
      'tools[0].exchange.audience is not set',
    ]);
    expect(await openApiProblems(`credentials: exchange\n${OPERATIONS}`)).toEqual([
      'tools[0].credentials needs the key `exchange` of the entry',
    ]);
    expect(await openApiProblems(`credentials: user\n${exchange('https://x.example')}`)).toEqual([
      'tools[0].exchange has no effect: no tool of the entry has these credentials',
    ]);
  });
});

describe('the secrets and headers of a source', () => {
  const USE = `headers: { X-Key: '\${SHOP_KEY}' }`;

  it('are refused if a secret is in the configuration file, even if the environment has it as well', async () => {
    const text = `SHOP_KEY: in-the-file\ntools:\n  - { mcp: https://x.example, name: x, secrets: [SHOP_KEY], ${USE}, tools: { a: } }`;
    const problems = await problemsOf(text, { SHOP_KEY: 'in-the-environment' });
    expect(problems).toEqual([
      {
        setting: 'SHOP_KEY',
        value: null,
        source: 'agentd.yaml',
        problem: 'is a secret of a tool source, which must not be in the configuration file',
        right:
          'the secret, in the environment or in .env; or SHOP_KEY_FILE, the path of a file that contains it',
      },
    ]);
    expect(await problemsOf(text)).toEqual(problems);
  });

  it('are refused if a secret that the entry lists is not set', async () => {
    expect(await openApiProblems(`secrets: [SHOP_KEY]\n${USE}\n${OPERATIONS}`)).toEqual([
      'SHOP_KEY is not set, but tools[0].secrets[0] lists it',
    ]);
    expect(
      await openApiProblems(`secrets: [SHOP_KEY]\n${USE}\n${OPERATIONS}`, { SHOP_KEY_FILE: '/nowhere' }),
    ).toEqual(['SHOP_KEY_FILE is a file that cannot be read (ENOENT)']);
  });

  it('are refused if a header refers to a secret that the entry does not list', async () => {
    expect(await openApiProblems(`${USE}\n${OPERATIONS}`, { SHOP_KEY: 'x' })).toEqual([
      `tools[0].headers.X-Key refers to \${SHOP_KEY}, which the entry does not list`,
    ]);
  });

  it.each([
    ['secrets: SHOP_KEY', 'tools[0].secrets is not a list'],
    ['secrets: ["a b"]', 'tools[0].secrets[0] is not the name of a setting'],
    ['secrets: [JWT_SECRET_KEY]', 'tools[0].secrets[0] names JWT_SECRET_KEY, a setting of agentd itself'],
    ['headers: x', 'tools[0].headers is not an object'],
    ['headers: { "a b": x }', 'tools[0].headers["a b"] is not a header that an entry may set'],
    ['headers: { Host: x }', 'tools[0].headers.Host is not a header that an entry may set'],
    ['headers: { A: x, a: y }', 'tools[0].headers.a occurs twice in the list'],
    [`headers: { A: 'x\${' }`, 'tools[0].headers.A has a `$\u007b` without a `}`'],
    ['headers: { A: 1 }', 'tools[0].headers.A is a number; put it in quotes'],
    ['headers: { A: "x\\ny" }', 'tools[0].headers.A has a value that no header can contain'],
  ])('are refused if they are invalid: %s', async (text, problem) => {
    expect(await openApiProblems(`${text}\n${OPERATIONS}`)).toEqual([problem]);
  });

  it('are reported as problems without their values', async () => {
    const place = placeWith(
      { ...API, SHOP_KEY: 'hidden\nvalue' },
      {
        'agentd.yaml': `tools:
  - openapi: ./shop.yaml
    name: shop
    secrets: [SHOP_KEY]
    headers: { X-Key: 'hidden \${SHOP_KEY}', Other: '\${hidden' }
    exchange: { url: https://x.example, client_id: a, client_secret: 'hidden \${SHOP_KEY', audience: c }
    operations: { a: }
`,
      },
    );
    const { problems } = await inspectConfiguration(place);
    expect(problems.map(({ setting }) => setting)).toEqual([
      'tools[0].headers.X-Key',
      'tools[0].headers.Other',
      'tools[0].exchange.client_secret',
    ]);
    expect(JSON.stringify(problems)).not.toContain('hidden');
  });

  it('are shown masked by `agentd config show`', async () => {
    const { cwd } = placeWith(
      {},
      {
        '.env': 'SHOP_KEY=hidden-value',
        'agentd.yaml': 'tools: [{ mcp: "https://x.example", name: x, secrets: [SHOP_KEY], tools: { a: } }]',
      },
    );
    const { out, stdout } = capturedOutput({ json: true });
    const options = { config: join(cwd, 'agentd.yaml'), envFile: join(cwd, '.env'), set: true };
    await expect(show.run({ args: [], options, out })).rejects.toThrow('JWT_ALGORITHM');
    expect(JSON.parse(stdout.text)).toContainEqual({
      name: 'SHOP_KEY',
      value: '[secret]',
      source: join(cwd, '.env'),
      secret: true,
    });
  });
});
