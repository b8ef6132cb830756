import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AgentTurn, ToolAnswer } from '../../../../src/agent/index.ts';
import { AgentFailure } from '../../../../src/daemon/agent/agent.ts';
import { createLlm, type LlmSettings } from '../../../../src/daemon/agent/llm/llm.ts';
import { ConfigurationError } from '../../../../src/daemon/settings/problem.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { readArguments } from '../../../../src/daemon/tools/schema/read-arguments.ts';
import { agentTurn, fakeTool, piecesOf, replyOf } from '../../../support/agent-turn.ts';
import { FakeModel } from '../../../support/fake-model.ts';
import { llmSettings } from '../../../support/llm-settings.ts';
import { collectLog } from '../../../support/log-lines.ts';

const KEY = 'model-key-of-the-tests';
let model: FakeModel;
let logged: ReturnType<typeof collectLog>;

beforeAll(async () => {
  model = await FakeModel.start();
});
beforeEach(() => {
  logged = collectLog();
  vi.restoreAllMocks();
});
afterAll(() => model.close());

function settings(changes: Partial<LlmSettings> = {}): LlmSettings {
  return llmSettings({
    AGENT_MODEL: 'llama3:8b',
    AGENT_BASE_URL: model.url,
    AGENT_API_KEY: new Secret(KEY),
    AGENT_MAX_STEPS: 4,
    ...changes,
  });
}

async function run(turn: Partial<AgentTurn> = {}, changes: Partial<LlmSettings> = {}) {
  const runtime = await createLlm(settings(changes), logged.log);
  return runtime.run(agentTurn({ log: logged.log, ...turn }));
}

async function failureOf(turn: Partial<AgentTurn> = {}) {
  const error = await replyOf(await run(turn)).then(
    (reply) => expect.fail(`the run should have failed, but replied: ${reply}`),
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(AgentFailure);
  const { reason, message } = error as AgentFailure;
  return { reason, message };
}

test('text is streamed as it arrives, from the configured model and with the configured key', async () => {
  model.script([{ text: ['Hel', 'lo ', 'there.'] }]);
  expect(await piecesOf(await run())).toEqual(['Hel', 'lo ', 'there.']);
  expect(model.requests).toMatchObject([
    { model: 'llama3:8b', stream: true, authorization: `Bearer ${KEY}` },
  ]);
});

test('a stream that ends with `[DONE]` is complete, even if the server does not say why it ended', async () => {
  model.script([{ unfinished: ['Hello ', 'there.'], done: true }]);
  expect(await piecesOf(await run())).toEqual(['Hello ', 'there.']);
});

describe('a model server that does not stream', () => {
  const completion = (message: object, finish_reason: string) => ({
    status: 200,
    body: {
      ...{ id: 'c1', object: 'chat.completion', created: 1, model: 'llama3:8b' },
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    },
  });
  const calls = (...emails: string[]) =>
    emails.map((email, index) => ({
      ...{ id: `call-${index}`, type: 'function' },
      function: { name: 'get_user', arguments: JSON.stringify({ email }) },
    }));

  test('sends one whole completion, which becomes the reply', async () => {
    model.script([completion({ content: 'Hello there.' }, 'stop')]);
    expect(await replyOf(await run())).toBe('Hello there.');
  });

  test('may name another content type', async () => {
    const { body } = completion({ content: 'Hello there.' }, 'stop');
    model.script([{ status: 200, headers: { 'content-type': 'text/plain' }, body }]);
    expect(await replyOf(await run())).toBe('Hello there.');
  });

  test('may leave out why it ended', async () => {
    model.script([{ status: 200, body: { choices: [{ message: { content: 'Hello there.' } }] } }]);
    expect(await replyOf(await run())).toBe('Hello there.');
  });

  test('can request tool calls', async () => {
    model.script([
      completion({ content: null, tool_calls: calls('a@example.com', 'b@example.com') }, 'tool_calls'),
      completion({ content: 'Two people.' }, 'stop'),
    ]);
    const tool = fakeTool({ ok: true, result: {} });
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Two people.');
    expect(tool.calls).toEqual([{ email: 'a@example.com' }, { email: 'b@example.com' }]);
  });

  test.each([{ error: { message: 'no' } }, { choices: 'none' }, []])(
    'makes the run fail if its response is not a completion: %j',
    async (body) => {
      model.script([{ status: 200, body }]);
      expect(await failureOf()).toHaveProperty('reason');
    },
  );
});

describe('the model runtime', () => {
  test('runs the tool that the model calls, and returns the result to the model', async () => {
    model.script([
      { text: ['Let me look.'], tools: [{ name: 'get_user', args: { email: 'bob@example.com' } }] },
      { text: ['That is Bob.'] },
    ]);
    const tool = fakeTool({ ok: true, result: { user: { name: 'Bob' } } });
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Let me look.\n\nThat is Bob.');
    expect(tool.calls).toEqual([{ email: 'bob@example.com' }]);
    expect(model.requests[0]?.tools).toMatchObject([
      { function: { name: 'get_user', parameters: tool.parameters } },
    ]);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: '{"user":{"name":"Bob"}}',
    });
  });

  test('returns the headers of the API together with the result, if there are any', async () => {
    const headers = { link: '<https://api.example.com/users?page=2>; rel="next"' };
    model.script([
      { tools: [{ name: 'get_user', args: {} }] },
      { tools: [{ name: 'get_user', args: {} }] },
      { text: ['Done.'] },
    ]);
    const answers: ToolAnswer[] = [
      { ok: true, result: [1], headers },
      { ok: false, message: 'Too many.', headers: { 'retry-after': '30' } },
    ];
    const tool = fakeTool(async () => answers.shift() as ToolAnswer);
    await replyOf(await run({ tools: [tool] }));
    const told = model.requests.slice(1).map(({ messages }) => JSON.parse(String(messages.at(-1)?.content)));
    expect(told).toEqual([
      { result: [1], response_headers: headers },
      { error: 'Too many.', response_headers: { 'retry-after': '30' } },
    ]);
  });

  test('runs both calls if the model makes two calls in one step', async () => {
    const tools = ['a@example.com', 'b@example.com'].map((email) => ({ name: 'get_user', args: { email } }));
    model.script([{ tools }, { text: ['Done.'] }]);
    const tool = fakeTool({ ok: true, result: {} });
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Done.');
    expect(tool.calls).toHaveLength(2);
  });

  test('sends no half of a character, which many servers refuse: neither of a result nor of a definition', async () => {
    model.script([{ tools: [{ name: 'get_user', args: {} }] }, { text: ['Done.'] }]);
    const cut = '😀'.slice(0, 1);
    const tool = fakeTool({ ok: true, result: `The note ends in ${cut}` });
    tool.description = `Looks up a user ${cut}`;
    tool.parameters = { ...tool.parameters, description: `Whole: 😀, half: ${cut}` };
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Done.');
    const [, second] = model.requests;
    expect(second?.messages.at(-1)?.content).toBe('The note ends in \ufffd');
    expect(second?.tools?.[0]?.function).toMatchObject({
      description: 'Looks up a user \ufffd',
      parameters: { description: 'Whole: 😀, half: \ufffd' },
    });
  });

  test('gives the model an explanation if a tool fails', async () => {
    model.script([{ tools: [{ name: 'get_user', args: {} }] }, { text: ['Sorry.'] }]);
    const tool = fakeTool({ ok: false, message: 'The API is down.' });
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Sorry.');
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: '{"error":"The API is down."}',
    });
  });

  test('continues the run if the model calls an unknown tool', async () => {
    model.script([{ tools: [{ name: 'drop_tables', args: {} }] }, { text: ['I cannot do that.'] }]);
    expect(await replyOf(await run({ tools: [fakeTool({ ok: true, result: {} })] }))).toBe(
      'I cannot do that.',
    );
  });

  test('explains to the model that a tool is unknown or that arguments are not JSON', async () => {
    model.script([
      {
        tools: [
          { name: 'no_such', args: {} },
          { name: 'get_user', args: {}, raw: '{"email": ' },
        ],
      },
      { text: ['Sorry.'] },
    ]);
    const tool = fakeTool({ ok: true, result: 1 });
    expect(await replyOf(await run({ tools: [tool] }))).toBe('Sorry.');
    const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool');
    expect(results?.map(({ content }) => content)).toEqual([
      'There is no tool `no_such`. Call only the tools that are listed.',
      'The arguments were not valid JSON, so nothing was called. Send one JSON object.',
    ]);
    expect(tool.calls).toEqual([]);
  });

  test.each([
    ['lists', '{"email": ', '[', ']', 3000],
    ['objects', '{"email": ', '{"a":', '}', 12_000],
  ])(
    'tells the model that its arguments are nested too deeply: %s',
    async (_, begin, open, close, levels) => {
      const raw = `${begin}${open.repeat(levels)}1${close.repeat(levels)}}`;
      model.script([{ tools: [{ name: 'get_user', args: {}, raw }] }, { text: ['I see.'] }]);
      const tool = fakeTool({ ok: false, message: 'The arguments are nested too deeply.' });
      expect(await replyOf(await run({ tools: [tool] }))).toBe('I see.');
      expect(tool.calls).toHaveLength(1);
      expect(readArguments(tool.calls[0])).toMatchObject({
        ok: false,
        message: expect.stringContaining('nested too deeply'),
      });
    },
  );

  test('fails a call whose answer would fill the memory', async () => {
    model.script([{ text: Array.from({ length: 40 }, () => 'x'.repeat(1024 * 1024)) }]);
    const before = model.aborted;
    expect((await failureOf()).reason).toBe('model_broken_stream');
    await expect.poll(() => model.aborted).toBeGreaterThan(before);
  });

  test('asks the daemon to report the writes only if no steps remain', async () => {
    const reportWrites = vi.fn();
    model.script([{ tools: [{ name: 'get_user', args: {} }] }, { text: ['Done.'] }]);
    await replyOf(await run({ tools: [fakeTool({ ok: true, result: 1 })], reportWrites }));
    expect(reportWrites).not.toHaveBeenCalled();
    model.script([{ tools: [{ name: 'get_user', args: {} }] }]);
    await replyOf(await run({ tools: [fakeTool({ ok: true, result: 1 })], reportWrites }));
    expect(reportWrites).toHaveBeenCalledOnce();
  });

  test('after AGENT_MAX_STEPS steps, ends a run that keeps calling tools, with an explanation', async () => {
    model.script([{ tools: [{ name: 'get_user', args: {} }] }]);
    const tool = fakeTool({ ok: true, result: {} });
    expect(await replyOf(await run({ tools: [tool] }))).toBe(
      'I could not finish this within the steps that I am allowed. Please ask again, for one thing at a time.',
    );
    expect(model.requests).toHaveLength(4);
    expect(model.requests.map((request) => request.tool_choice)).toEqual(['auto', 'auto', 'auto', 'none']);
  });
});

test.each([
  [{ text: [] }, 'I have no answer to that. Please put it in other words.'],
  [{ text: ['  \n'] }, '  \nI have no answer to that. Please put it in other words.'],
  [{ text: [], finish: 'content_filter' }, 'I cannot answer that.'],
])('an empty answer of the model (%j) is replaced by a text', async (answer, reply) => {
  model.script([answer]);
  expect(await replyOf(await run())).toBe(reply);
});

describe('a failed model call', () => {
  test.each([429, 500, 503])('is retried after Retry-After if the status is %d', async (status) => {
    model.script([{ status, headers: { 'retry-after': '0' } }, { text: ['Here I am.'] }]);
    expect(await replyOf(await run())).toBe('Here I am.');
    expect(model.requests).toHaveLength(2);
  });

  test('is not retried if Retry-After is longer than the rest of the run: the error has the wait', async () => {
    model.script([{ status: 429, headers: { 'retry-after': '90' } }]);
    const error = await replyOf(await run({ deadline: Date.now() + 60_000 })).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(AgentFailure);
    expect(error).toMatchObject({
      reason: 'model_overloaded',
      message: 'the model server answered 429: status 429',
      passing: true,
      retryAfterSeconds: 90,
      detail: { status: 429, retry_after_seconds: 90 },
    });
    expect(model.requests).toHaveLength(1);
  });

  test('has the reason `model_overloaded` if the model stays overloaded', async () => {
    model.script([{ status: 503, headers: { 'retry-after': '0' } }]);
    expect(await failureOf()).toEqual({
      reason: 'model_overloaded',
      message: 'the model server answered 503: status 503',
    });
    expect(model.requests).toHaveLength(4);
  });

  test.each([400, 401, 404])(
    'is not retried if the status is %d, and has the reason `model_refused`',
    async (status) => {
      model.script([{ status }]);
      expect(await failureOf()).toEqual({
        reason: 'model_refused',
        message: `the model server refused the request with ${status}: status ${status}`,
      });
      expect(model.requests).toHaveLength(1);
    },
  );

  test.each([
    { cut: ['Half a '] },
    { cut: [] },
    { unfinished: ['Half a '] },
    { unfinished: [], done: true },
    { garbage: '{"no' },
  ])('has the reason `model_broken_stream` if the stream breaks off: %j', async (answer) => {
    model.script([answer]);
    expect((await failureOf()).reason).toBe('model_broken_stream');
  });

  test('has the reason `model_unreachable` if the server is unreachable', async () => {
    const gone = await FakeModel.start();
    const url = gone.url;
    await gone.close();
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const runtime = await createLlm(settings({ AGENT_BASE_URL: url }), logged.log);
    const work = replyOf(runtime.run(agentTurn({ log: logged.log })));
    const ended = expect(work).rejects.toMatchObject({
      reason: 'model_unreachable',
      message: 'the model server cannot be reached',
    });
    let over = false;
    void ended.finally(() => {
      over = true;
    });
    while (!over) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate);
    }
    vi.useRealTimers();
    await ended;
    expect(logged.lines).toContainEqual(
      expect.objectContaining({ msg: 'model call failed', code: 'ECONNREFUSED' }),
    );
  });

  test('ends at once if the run is aborted, and the run fails with the reason of the abort', async () => {
    model.script(['hang']);
    const controller = new AbortController();
    const work = replyOf(await run({ signal: controller.signal }));
    void model.hanging.then(() => controller.abort(new Error('deadline')));
    await expect(work).rejects.toThrow('deadline');
    await expect.poll(() => model.aborted).toBeGreaterThan(0);
  });

  test('keeps the error text of the server for the operator, without the key', async () => {
    model.script([{ status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}.` } } }]);
    const error = await replyOf(await run()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      reason: 'model_refused',
      message: 'the model server refused the request with 401: Incorrect API key provided: [key].',
      detail: { status: 401, said: 'Incorrect API key provided: [key].' },
    });
    expect(logged.lines).toContainEqual(
      expect.objectContaining({ status: 401, said: 'Incorrect API key provided: [key].' }),
    );
    expect(logged.text()).not.toContain(KEY);
  });

  test('is logged with the name and status of the error, but without the prompt and the key', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    const message = `You sent {"content": "a very private question"} with the key ${KEY}`;
    model.script([{ status: 400, body: { error: { message } } }]);
    expect((await failureOf({ text: 'a very private question' })).message).toMatch(/with 400$/);
    expect(logged.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'model call failed',
        name: 'AI_APICallError',
        status: 400,
      }),
    );
    expect(logged.text()).not.toContain('private question');
    expect(logged.text()).not.toContain(KEY);
    expect(printed).not.toHaveBeenCalled();
  });
});

describe('the configuration of the model runtime', () => {
  const refused = async (changes: Partial<LlmSettings>) => {
    const error = await createLlm(settings(changes), logged.log).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as ConfigurationError).problems.map(
      ({ setting, problem, right }) => `${setting} ${problem}: ${right}`,
    );
  };

  test('is refused if the provider package is missing, and the error has the command to install it', async () => {
    expect(await refused({ AGENT_BASE_URL: undefined, AGENT_MODEL: 'nobody-offers:m-1' })).toEqual([
      'AGENT_MODEL names the provider `nobody-offers`, which is not installed: run `npm install @ai-sdk/nobody-offers`, or set AGENT_BASE_URL to an OpenAI-compatible server',
    ]);
  });

  test.each<[string, Partial<LlmSettings>, Record<string, string>, string[]]>([
    [
      'azure: without its resource and key',
      { AGENT_MODEL: 'azure:gpt-4o', AGENT_API_KEY: undefined },
      {},
      [
        'AZURE_RESOURCE_NAME is not set, but `azure:gpt-4o` needs it: set it in the environment of the daemon; or resourceName in AGENT_PROVIDER_OPTIONS; or baseURL in AGENT_PROVIDER_OPTIONS',
        'AGENT_API_KEY is not set, but `azure:gpt-4o` needs it: a key of the provider; or AZURE_API_KEY in the environment of the daemon',
      ],
    ],
    [
      'azure: with the key, but without its resource',
      { AGENT_MODEL: 'azure:gpt-4o' },
      {},
      [
        'AZURE_RESOURCE_NAME is not set, but `azure:gpt-4o` needs it: set it in the environment of the daemon; or resourceName in AGENT_PROVIDER_OPTIONS; or baseURL in AGENT_PROVIDER_OPTIONS',
      ],
    ],
    ['azure: with both', { AGENT_MODEL: 'azure:gpt-4o' }, { AZURE_RESOURCE_NAME: 'acme' }, []],
    [
      'azure: with its resource as an option',
      { AGENT_MODEL: 'azure:gpt-4o', AGENT_PROVIDER_OPTIONS: '{"resourceName": "acme"}' },
      {},
      [],
    ],
    [
      'anthropic: without a key',
      { AGENT_MODEL: 'anthropic:claude', AGENT_API_KEY: undefined },
      {},
      [
        'AGENT_API_KEY is not set, but `anthropic:claude` needs it: a key of the provider; or ANTHROPIC_API_KEY in the environment of the daemon',
      ],
    ],
    [
      'cohere: with its own variable',
      { AGENT_MODEL: 'cohere:command', AGENT_API_KEY: undefined },
      { COHERE_API_KEY: 'k' },
      [],
    ],
    [
      'google-vertex: without a project',
      { AGENT_MODEL: 'google-vertex:gemini', AGENT_API_KEY: undefined },
      { GOOGLE_VERTEX_LOCATION: 'global' },
      [
        'AGENT_API_KEY is not set, but `google-vertex:gemini` needs it: a key of the provider; or GOOGLE_VERTEX_API_KEY in the environment of the daemon; or GOOGLE_VERTEX_PROJECT and GOOGLE_VERTEX_LOCATION in the environment of the daemon; or project and location in AGENT_PROVIDER_OPTIONS',
      ],
    ],
    [
      'amazon-bedrock: without a region and a key',
      { AGENT_MODEL: 'amazon-bedrock:nova', AGENT_API_KEY: undefined },
      { AWS_ACCESS_KEY_ID: 'a' },
      [
        'AWS_REGION is not set, but `amazon-bedrock:nova` needs it: set it in the environment of the daemon; or region in AGENT_PROVIDER_OPTIONS',
        'AGENT_API_KEY is not set, but `amazon-bedrock:nova` needs it: a key of the provider; or AWS_BEARER_TOKEN_BEDROCK in the environment of the daemon; or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the daemon',
      ],
    ],
  ])('names every setting that the provider needs: %s', async (_case, changes, env, problems) => {
    for (const name of ['AZURE_RESOURCE_NAME', 'AZURE_API_KEY', 'ANTHROPIC_API_KEY', 'AWS_REGION'])
      vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const found = await refused({ AGENT_BASE_URL: undefined, ...changes });
    vi.unstubAllEnvs();
    // The packages of these providers are not installed here, which is a further problem.
    expect(found.filter((problem) => !problem.includes('is not installed'))).toEqual(problems);
  });

  test('names all problems of both models at once', async () => {
    const changes = {
      AGENT_BASE_URL: undefined,
      AGENT_MODEL: 'nobody-offers:m-1',
      AGENT_FALLBACK_MODEL: 'nobody-else:m-1',
    };
    expect(await refused(changes)).toEqual([
      expect.stringContaining('AGENT_MODEL names the provider `nobody-offers`'),
      expect.stringContaining('AGENT_FALLBACK_MODEL names the provider `nobody-else`'),
    ]);
  });

  test.each(['anthropic:claude-sonnet', 'azure:gpt-4o', 'openai:gpt-4o', 'google:gemini'])(
    'refuses `%s` together with AGENT_BASE_URL, whose server would be asked instead of the provider',
    async (AGENT_MODEL) => {
      const [provider] = AGENT_MODEL.split(':');
      expect(await refused({ AGENT_MODEL })).toEqual([
        `AGENT_MODEL names the provider \`${provider}\`, but AGENT_BASE_URL is set, so the server there would be asked for a model \`${AGENT_MODEL}\`: the name of a model of that server; or unset AGENT_BASE_URL`,
      ]);
    },
  );

  test('refuses a provider for the fallback model that would get the address and the key of the first model', async () => {
    expect(await refused({ AGENT_FALLBACK_MODEL: 'anthropic:claude' })).toEqual([
      'AGENT_FALLBACK_MODEL names the provider `anthropic`, but AGENT_BASE_URL is set, so the server there would be asked for a model `anthropic:claude`: the name of a model of that server; or set AGENT_FALLBACK_BASE_URL and AGENT_FALLBACK_API_KEY to an OpenAI-compatible server of the provider',
    ]);
  });

  test.each(['llama3:8b', 'mistral:7b', 'deepseek-r1:8b', 'gpt-oss:20b'])(
    'accepts `%s` together with AGENT_BASE_URL, because it is a model of a local server',
    async (AGENT_MODEL) => {
      await expect(createLlm(settings({ AGENT_MODEL }), logged.log)).resolves.toBeDefined();
    },
  );

  test('needs AGENT_BASE_URL for a model name without a provider', async () => {
    expect(await refused({ AGENT_BASE_URL: undefined, AGENT_MODEL: 'llama3' })).toEqual([
      'AGENT_MODEL is `llama3`, which names no provider: provider:model, or AGENT_BASE_URL set as well',
    ]);
  });

  test('reads the instructions from the file that AGENT_INSTRUCTIONS names, which must exist', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'agentd-'));
    const path = join(directory, 'prompt.md');
    await writeFile(path, 'Speak like a pirate.\n');
    model.script([{ text: ['Arr.'] }]);
    await replyOf(await run({}, { AGENT_INSTRUCTIONS: path }));
    expect(model.requests[0]?.messages[0]?.content).toMatch(/^Speak like a pirate\.\n\nIt is /);
    await rm(directory, { recursive: true });
    expect(await refused({ AGENT_INSTRUCTIONS: path })).toEqual([
      `AGENT_INSTRUCTIONS names ${path}, but there is no such file: a text, or the path of a text file`,
    ]);
  });

  test('accepts the text itself in AGENT_INSTRUCTIONS', async () => {
    model.script([{ text: ['Arr.'] }]);
    await replyOf(await run({}, { AGENT_INSTRUCTIONS: 'Speak like a pirate.' }));
    expect(model.requests[0]?.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^Speak like a pirate\./),
    });
  });
});
