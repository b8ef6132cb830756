import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { EXCHANGE_CLIENT, FakeAuthorizationServer } from '../support/fake-authorization-server.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-agent(7), "Credentials", "Exchange". The authorization server refuses every request that is not exactly
// as RFC 8693 and the entry require. A source on another origin gets the exchanged token.

/** Calls the tool once for each word of the message, and replies with the results. */
const RUNTIME = `
export default {
  apiVersion: 1,
  async *run({ text, tools }) {
    const tool = tools.find(({ name }) => name === 'billing_listInvoices');
    const answers = await Promise.all(text.split(' ').map((q) => tool.call({ q })));
    yield JSON.stringify(answers);
  },
};
`;

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Billing', version: '1' },
  paths: {
    '/invoices': {
      get: {
        operationId: 'listInvoices',
        parameters: [{ name: 'q', in: 'query', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'Invoices' } },
      },
    },
  },
};

const folder = temporaryFolder('exchange');
let authorization: FakeAuthorizationServer;
let daemon: DaemonHere;
let bearers: (string | undefined)[] = [];
/** The statuses of the next responses. All later responses have status 200. */
let statuses: number[] = [];
const billing = createServer(({ headers }, response) => {
  bearers.push(headers.authorization);
  response.writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ seen: headers.authorization }));
});

beforeAll(async () => {
  authorization = await FakeAuthorizationServer.start();
  await listenOnFreePort(billing);
  writeFiles(folder, {
    'runtime.mjs': RUNTIME,
    'billing.json': JSON.stringify(DOCUMENT),
    'agentd.yaml': `
tools:
  - openapi: ./billing.json
    name: billing
    base_url: http://127.0.0.1:${(billing.address() as AddressInfo).port}
    secrets: [BILLING_SECRET]
    exchange:
      url: ${authorization.url}
      client_id: '${EXCHANGE_CLIENT.client_id}'
      client_secret: '\${BILLING_SECRET}'
      audience: billing
    operations: { listInvoices: {} }
`,
  });
  daemon = await startDaemonHere({
    directory: folder,
    env: { AGENT_RUNTIME: './runtime.mjs', BILLING_SECRET: EXCHANGE_CLIENT.client_secret },
  });
});
beforeEach(() => {
  bearers = [];
  statuses = [];
  authorization.instead = null;
  authorization.exchanged.length = 0;
});

async function ask(words: string, bearer: string | null): Promise<{ ok: boolean; message?: string }[]> {
  const { status, body } = await post(
    daemon.url,
    { user_id: 'u1', message: words },
    bearer === null ? {} : { bearer },
  );
  expect(status).toBe(200);
  return JSON.parse(body.response);
}

it('a source gets one exchanged token for each person, and never the original token', async () => {
  const [ada, bob] = [await token({ sub: 'ada' }), await token({ sub: 'bob' })];
  // Two simultaneous calls and a later call need only one exchange.
  await ask('one two', ada);
  await ask('three', ada);
  await ask('four', bob);
  expect(authorization.wrong).toEqual([]);
  expect(authorization.exchanged).toEqual([ada, bob]);
  const [first, second] = ['Bearer exchanged-1-for-billing', 'Bearer exchanged-2-for-billing'];
  expect(bearers).toEqual([first, first, first, second]);
});

it('the agent is told that the exchange failed, and no call is made with a different token', async () => {
  authorization.instead = { status: 400, body: '{"error":"invalid_grant","error_description":"no"}' };
  const [answer] = await ask('one', await token({ sub: 'mallory' }));
  expect(answer).toEqual({ ok: false, message: expect.stringMatching(/^[A-Z].*\.$/) });
  expect(bearers).toEqual([]);
});

it('no token is in an answer, a log line or a trace', async () => {
  const ada = await token({ sub: 'grace' });
  const answers = JSON.stringify(await ask('one', ada));
  const out = answers + daemon.stdout() + daemon.stderr();
  for (const secret of [ada.split('.')[2] ?? '', '-for-billing', EXCHANGE_CLIENT.client_secret])
    expect(out).not.toContain(secret);
});
