import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { command as check } from '../../../src/cli/commands/config-check.ts';
import { command as call } from '../../../src/cli/commands/tools-call.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { documentOf } from '../../support/openapi.ts';
import { placeWith, VALID } from '../settings/place.ts';
import { capturedOutput, exitCodeOf } from './captured-output.ts';

// `config check` and `tools call` say where a source gets a token if it is not `Authorization: Bearer`.

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start({ secret: VALID.JWT_SECRET_KEY });
});

const ORDERS = documentOf({
  '/orders': { get: { operationId: 'list', responses: { default: { description: '' } } } },
});

/** The options of a command with this entry of an OpenAPI source. */
function optionsFor(
  credential: string,
  given: Record<string, string> = { API_EMAIL: 'service@example.com', API_PASSWORD: 'service-password' },
): { config: string; envFile: string } {
  const env = { ...VALID, API_BASE_URL: api.url, ...given };
  const { cwd } = placeWith(
    {},
    {
      '.env': Object.entries(env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
      'shop.json': JSON.stringify(ORDERS),
      'agentd.yaml': `tools:\n  - { openapi: ./shop.json, name: shop, ${credential} operations: { list: { public: all } } }\n`,
    },
  );
  return { config: join(cwd, 'agentd.yaml'), envFile: join(cwd, '.env') };
}

test.each([
  ['', ''],
  ['credential: { header: X-User-Token },', '; tokens are sent in the header X-User-Token'],
  [
    'credential: { header: Authorization, scheme: Token },',
    '; tokens are sent in the header Authorization, after `Token`',
  ],
  ['credential: { cookie: session },', '; tokens are sent in the cookie session'],
])('config check shows the form of %j', async (credential, words) => {
  const { out, stdout } = capturedOutput();
  expect(await exitCodeOf(check, { args: [], options: optionsFor(credential), out })).toBe(0);
  expect(stdout.text).toContain(`tools of shop (${api.url}): may see a person's token${words}\n`);
});

test('config check --json has the form as an object', async () => {
  const { out, stdout } = capturedOutput({ json: true });
  await check.run({ args: [], options: optionsFor('credential: { cookie: session },'), out });
  expect(JSON.parse(stdout.text)).toMatchObject({
    sources: [{ source: 'shop', token: 'own', credential: { cookie: 'session' } }],
  });
});

test.each([
  ['', ''],
  ['credential: { header: X-User-Token },', ', in the header X-User-Token'],
  ['credential: { cookie: session },', ', in the cookie session'],
])('tools call shows the form of %j, and not the token', async (credential, words) => {
  api.requests.length = 0;
  api.misbehave('/orders', { status: 200, body: [] });
  const { out, stdout, stderr } = capturedOutput();
  expect(await exitCodeOf(call, { args: ['shop_list'], options: optionsFor(credential), out })).toBe(0);
  expect(stdout.text).toContain(`request: GET ${api.url}/orders (credentials: default${words})\n`);
  const headers = api.seen('/orders')[0]?.headers ?? {};
  const sent = String(headers.authorization ?? headers['x-user-token'] ?? headers.cookie).replace(
    /^\w+[ =]/,
    '',
  );
  expect(sent).toMatch(/^eyJ/);
  expect(stdout.text + stderr.text).not.toContain(sent);
});

test('tools call without default credentials says which settings to set', async () => {
  const { out, stderr } = capturedOutput();
  expect(await exitCodeOf(call, { args: ['shop_list'], options: optionsFor('', {}), out })).toBe(1);
  expect(stderr.text).toMatch(/API_EMAIL and API_PASSWORD are not set.*Set both/);
});
