import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SampleApi, startSampleApi } from '../../../plugins/sample/api.ts';
import { SAMPLE_DOCUMENT } from '../../../plugins/sample/document.ts';
import { sampleTools } from '../../../src/daemon/dev/sample.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import { describeSource } from '../../../src/daemon/tools/describe-source.ts';
import { loadOpenApiTools } from '../../../src/daemon/tools/openapi/openapi-source.ts';
import { baseEnv } from '../../support/daemon.ts';
import { personVerdict } from '../../support/step.ts';

const ACCOUNT = { email: 'service@example.com', password: 'password' };
let api: SampleApi;
let serviceToken: string;

beforeEach(async () => {
  await api?.close();
  api = await startSampleApi({
    ...ACCOUNT,
    findEmail: async (token) =>
      token.startsWith('token-of-') ? personVerdict(token.slice('token-of-'.length)).user.email : null,
  });
  const body = JSON.stringify(ACCOUNT);
  const answer = await fetch(`${api.url}/authentication_token`, { method: 'POST', body });
  ({ token: serviceToken } = (await answer.json()) as { token: string });
});
afterAll(() => api.close());

async function ask(method: string, path: string, token?: string, body?: object) {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return [response.status, await response.json()];
}

describe('the sample API', () => {
  it('shows its products to everyone with valid credentials', async () => {
    for (const token of [serviceToken, 'token-of-alan'])
      expect(await ask('GET', '/products', token)).toMatchObject([
        200,
        [{ name: 'Analytical engine' }, {}, {}],
      ]);
    expect((await ask('GET', '/products'))[0]).toBe(401);
    expect((await ask('GET', '/products', 'forged'))[0]).toBe(401);
  });

  it('shows people only their own orders', async () => {
    expect(await ask('GET', '/orders', 'token-of-grace')).toMatchObject([
      200,
      [{ number: 1002 }, { number: 1005 }],
    ]);
    expect(await ask('GET', '/orders', 'token-of-alan')).toMatchObject([200, [{ number: 1006 }]]);
    expect((await ask('GET', '/orders', serviceToken))[0]).toBe(403);
    expect((await ask('GET', '/orders'))[0]).toBe(401);
  });

  it('cancels an order for its owner if it has not been shipped', async () => {
    expect((await ask('POST', '/orders/1004/cancel', 'token-of-grace'))[0]).toBe(404);
    expect((await ask('POST', '/orders/1004/cancel', serviceToken))[0]).toBe(403);
    expect(await ask('POST', '/orders/1004/cancel', 'token-of-ada')).toMatchObject([
      200,
      { status: 'canceled' },
    ]);
    expect(await ask('GET', '/users?userEmail=ada@example.com', 'token-of-ada')).toMatchObject([
      200,
      [{ orders: [{ status: 'shipped' }, { number: 1004, status: 'canceled' }] }],
    ]);
    expect((await ask('POST', '/orders/1004/cancel', 'token-of-ada'))[0]).toBe(409);
    expect((await ask('POST', '/orders/1001/cancel', 'token-of-ada'))[0]).toBe(409);
  });

  it('restores its data at each start', async () => {
    expect(await ask('GET', '/orders', 'token-of-ada')).toMatchObject([
      200,
      [{}, { status: 'being packed' }],
    ]);
  });

  it('changes only the address of the person who requests it', async () => {
    expect(await ask('PUT', '/address', 'token-of-ada', { address: '5 Main St' })).toEqual([
      200,
      { address: '5 Main St' },
    ]);
    expect((await ask('PUT', '/address', 'token-of-ada', {}))[0]).toBe(400);
    const [, [ada]] = (await ask('GET', '/users?userEmail=ada@example.com', serviceToken)) as [
      number,
      [object],
    ];
    expect(ada).toMatchObject({ address: '5 Main St' });
  });

  it('records for each request the kind of credentials and their e-mail address, and never a token', async () => {
    await ask('GET', '/orders', 'token-of-ada');
    await ask('GET', '/products', serviceToken);
    await ask('GET', '/products', 'forged');
    const requests = api.requestsAfter(1);
    expect(requests.map(({ path, credentials, as, status }) => [path, credentials, as, status])).toEqual([
      ['/orders', 'user', 'ada@example.com', 200],
      ['/products', 'default', ACCOUNT.email, 200],
      ['/products', 'none', null, 401],
    ]);
    expect(JSON.stringify(requests)).not.toMatch(new RegExp(`token-of|forged|${serviceToken}`));
  });

  it('shows its OpenAPI document to anybody', async () => {
    expect(await ask('GET', '/openapi.json')).toEqual([200, SAMPLE_DOCUMENT]);
  });
});

describe('the tools that use the sample API', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentd-'));
    await writeFile(join(folder, 'shop.json'), JSON.stringify(SAMPLE_DOCUMENT));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const configured = (env: object = {}) =>
    configure({
      env: { ...baseEnv(folder), API_BASE_URL: 'http://127.0.0.1:1', ...env },
      cwd: folder,
      structured: [sampleTools(folder, './shop.json')],
    });

  it('list products with any credentials and orders only as the person, who must confirm each write', async () => {
    const { tools } = await configured();
    const [entry] = tools;
    if (entry?.kind !== 'openapi') throw new Error('the entry is not an OpenAPI source');
    const made = await loadOpenApiTools(entry, describeSource(entry, 'http://127.0.0.1:1'));
    const policies = made.map(({ name, title, effect, credentials, confirm }) => [
      name,
      title,
      effect,
      credentials,
      confirm,
    ]);
    expect(policies).toEqual([
      ['shop_listProducts', 'Products', 'read', 'user-or-default', 'never'],
      ['shop_listOrders', 'My orders', 'read', 'user', 'never'],
      ['shop_cancelOrder', 'Cancel order', 'write', 'user', 'always'],
      ['shop_changeAddress', 'Change address to', 'write', 'user', 'always'],
    ]);
  });

  it('are absent if the configuration file lists other tools', async () => {
    await writeFile(join(folder, 'agentd.yaml'), 'tools: []\n');
    expect((await configured()).tools).toEqual([]);
    await rm(join(folder, 'agentd.yaml'));
  });
});
