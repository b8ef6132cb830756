import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLlm, type LlmSettings } from '../../../../src/daemon/agent/llm/llm.ts';
import { ConfigurationError } from '../../../../src/daemon/settings/problem.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { agentTurn, replyOf } from '../../../support/agent-turn.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';
import { llmSettings } from '../../../support/llm-settings.ts';
import { collectLog } from '../../../support/log-lines.ts';

// The package of a real provider, with a server in place of the provider's own.

interface Received {
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

const EVENTS = [
  {
    type: 'message_start',
    message: { id: 'm', model: 'claude', usage: { input_tokens: 3, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello ' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'there.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];

let received: Received[];
let redirects: boolean;
/** The model that is overloaded. */
let down: string | null;
let server: Server;
let baseURL: string;

beforeEach(async () => {
  received = [];
  redirects = false;
  down = null;
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      received.push({ url: request.url, headers: request.headers, body: JSON.parse(text || '{}') });
      if (received.at(-1)?.body.model === down)
        return void response.writeHead(503, { 'retry-after': '0' }).end();
      if (redirects) return void response.writeHead(307, { location: `${baseURL}/elsewhere` }).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of EVENTS) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    });
  });
  baseURL = `http://127.0.0.1:${await listenOnFreePort(server)}/v1`;
});
afterEach(() => void server.close());

const settings = (changes: Partial<LlmSettings> = {}): LlmSettings =>
  llmSettings({
    AGENT_MODEL: 'anthropic:claude-test',
    AGENT_API_KEY: new Secret('sk-of-the-provider'),
    AGENT_PROVIDER_OPTIONS: JSON.stringify({ baseURL }),
    ...changes,
  });

async function problemsOf(changes: Partial<LlmSettings>): Promise<string[]> {
  const error = await createLlm(settings(changes), collectLog().log).catch((caught: unknown) => caught);
  if (!(error instanceof ConfigurationError)) throw new Error('there is no problem');
  return error.problems.map(({ setting, problem, right }) => `${setting} ${problem}: ${right}`);
}

it('the package of a provider answers, with its options, its headers and the options of each call', async () => {
  const runtime = await createLlm(
    settings({
      AGENT_PROVIDER_OPTIONS: JSON.stringify({
        baseURL,
        providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
      }),
      AGENT_PROVIDER_HEADERS: new Secret('{"X-Team": "shop"}'),
    }),
    collectLog().log,
  );
  expect(await replyOf(runtime.run(agentTurn({ text: 'Hi' })))).toBe('Hello there.');
  expect(received).toMatchObject([
    {
      url: '/v1/messages',
      headers: { 'x-api-key': 'sk-of-the-provider', 'x-team': 'shop' },
      body: { model: 'claude-test', thinking: { type: 'enabled', budget_tokens: 1024 } },
    },
  ]);
});

it('a redirect is not followed, so that only the configured server gets the key', async () => {
  redirects = true;
  const runtime = await createLlm(settings(), collectLog().log);
  const deadline = Date.now();
  await expect(replyOf(runtime.run(agentTurn({ deadline })))).rejects.toThrow();
  expect(new Set(received.map(({ url }) => url))).toEqual(new Set(['/v1/messages']));
});

it('a package with a scope of its own is found by its whole name, and a missing one is named', async () => {
  const runtime = await createLlm(
    settings({ AGENT_MODEL: '@ai-sdk/anthropic:claude-test' }),
    collectLog().log,
  );
  expect(await replyOf(runtime.run(agentTurn()))).toBe('Hello there.');
  expect(await problemsOf({ AGENT_MODEL: '@nobody/provider:x' })).toEqual([
    'AGENT_MODEL names the provider `@nobody/provider`, which is not installed: run `npm install @nobody/provider`, or set AGENT_BASE_URL to an OpenAI-compatible server',
  ]);
});

/** The headers of the request to the fallback model. */
async function headersOfFallback(changes: Partial<LlmSettings>): Promise<IncomingHttpHeaders | undefined> {
  down = changes.AGENT_MODEL ?? 'claude-test';
  const headers = new Secret('{"X-Team": "shop"}');
  const runtime = await createLlm(
    settings({ AGENT_PROVIDER_HEADERS: headers, ...changes }),
    collectLog().log,
  );
  // The server speaks the language of another provider than the fallback model, but only the request matters.
  await replyOf(runtime.run(agentTurn())).catch(() => undefined);
  return received.find(({ body }) => body.model === changes.AGENT_FALLBACK_MODEL)?.headers;
}

it('the fallback at another address does not get the headers of the first model', async () => {
  const headers = await headersOfFallback({
    AGENT_FALLBACK_MODEL: 'small',
    AGENT_FALLBACK_BASE_URL: baseURL,
  });
  expect(headers).toBeDefined();
  expect(headers).not.toHaveProperty('x-team');
});

it('the fallback on the server of the first model gets its headers, also if the names have colons', async () => {
  const changes = { AGENT_BASE_URL: baseURL, AGENT_PROVIDER_OPTIONS: undefined };
  const models = { AGENT_MODEL: 'llama3:8b', AGENT_FALLBACK_MODEL: 'mistral:7b' };
  expect(await headersOfFallback({ ...changes, ...models })).toHaveProperty('x-team', 'shop');
});

it('the fallback of another provider needs a key of its own', async () => {
  const changes = { AGENT_MODEL: 'gateway:any/large', AGENT_FALLBACK_MODEL: 'anthropic:claude-test' };
  expect(await problemsOf(changes)).toEqual([
    expect.stringContaining('AGENT_FALLBACK_API_KEY is not set, but `anthropic:claude-test` needs it'),
  ]);
});

it.each([
  ['{"apiKey": "sk-secret"}', 'AGENT_PROVIDER_OPTIONS contains `apiKey`, a secret'],
  ['{"headers": {}}', 'AGENT_PROVIDER_OPTIONS contains headers'],
  ['{"baseURL": "http://models.example.com"}', 'AGENT_PROVIDER_OPTIONS has an unsafe `baseURL`'],
  [
    '{"providerOptions": {"anthropic": 1}}',
    'AGENT_PROVIDER_OPTIONS has a providerOptions that is not an object of objects',
  ],
])('the options %s are a problem', async (AGENT_PROVIDER_OPTIONS, problem) => {
  const [found] = await problemsOf({ AGENT_PROVIDER_OPTIONS });
  expect(found).toContain(`${problem}: `);
  expect(found).not.toContain('sk-secret');
});

it.each(['{"a b": "c"}', '{"Host": "x"}', '{"X-A": "line\\nbreak"}', '{"X-A": 1}'])(
  'the headers %s are a problem, whose words quote no value',
  async (headers) => {
    const [found] = await problemsOf({ AGENT_PROVIDER_HEADERS: new Secret(headers) });
    expect(found).toMatch(/^AGENT_PROVIDER_HEADERS has a/);
    expect(found).not.toMatch(/line|break/);
  },
);
