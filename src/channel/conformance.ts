/**
 * The conformance suite that every channel runs, the bundled ones and third parties' alike. It knows no
 * test runner; hand its cases to yours:
 *
 *     import { channelConformance } from 'agentd/channel/conformance';
 *     for (const { name, run } of channelConformance({ plugin, settings, messages })) it(name, run);
 *
 * Each case makes the channel anew, in a scope that records what it does. No socket is opened.
 */
import assert from 'node:assert/strict';
import type {
  Channel,
  ChannelPlugin,
  ChannelRequest,
  ChannelResponse,
  ChannelScope,
  ChannelSettings,
  FieldError,
  IncomingMessage,
  JsonObject,
  OutgoingReply,
} from './index.ts';
import { readMessage, readToken } from './read-message.ts';
import { ReplyParts } from './reply-parts.ts';

/** A request as a client or a platform would send it. */
export interface SampleRequest {
  method?: string;
  /** With its query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface ConformanceOptions {
  plugin: ChannelPlugin;
  /** With which the channel is configured. */
  settings: ChannelSettings;
  /** Deliveries, each with the messages that must come of it. */
  messages: readonly { request: SampleRequest; expect: readonly Partial<IncomingMessage>[] }[];
  /** Requests that must be refused, each with the code of the problem; nothing of them may get through. */
  refused?: readonly { title: string; request: SampleRequest; code: string }[];
  /** For channels that answer later: a reply, and what its platform answers to it. */
  send?: {
    reply: OutgoingReply;
    accepted: () => Response;
    /** A refusal that no repetition mends. */
    refused: () => Response;
  };
}

/** What the suite's scope says of every token. */
const NO_TOKEN = 'JWT Malformed';

export interface ConformanceCase {
  name: string;
  run(): Promise<void>;
}

/** A problem that a channel made through its scope. */
export class RecordedProblem extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];

  constructor(code: string, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

/** What a channel threw when its platform refused a reply. */
export class RecordedDeliveryFailure extends Error {
  readonly final: boolean;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: string, options: { final: boolean; retryAfterSeconds?: number }) {
    super(reason);
    this.final = options.final;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

export function channelConformance(options: ConformanceOptions): ConformanceCase[] {
  const { plugin } = options;
  const later = plugin.capabilities.reply === 'later';
  return [
    { name: `${plugin.name}: has the shape of contract version 1`, run: async () => hasShape(plugin) },
    { name: `${plugin.name}: is detected by its settings`, run: async () => isDetected(options) },
    { name: `${plugin.name}: stops without having been started, and after it`, run: () => stops(options) },
    { name: `${plugin.name}: says how it is, without waiting`, run: async () => tellsHealth(options) },
    ...options.messages.map(({ request, expect }, index) => ({
      name: `${plugin.name}: parses delivery ${index + 1} into ${expect.length} message(s)`,
      run: () => parses(options, request, expect),
    })),
    ...(options.refused ?? []).map(({ title, request, code }) => ({
      name: `${plugin.name}: refuses ${title} with ${code}`,
      run: () => refuses(options, request, code),
    })),
    ...(later ? laterCases(options) : []),
  ];
}

function laterCases(options: ConformanceOptions): ConformanceCase[] {
  const { plugin, send } = options;
  const cases: ConformanceCase[] = [
    {
      name: `${plugin.name}: does not say 200 to what was not kept`,
      run: () => answersOnlyWhatWasKept(options),
    },
    { name: `${plugin.name}: names a repeated delivery alike`, run: () => namesRepeatsAlike(options) },
  ];
  if (send) {
    cases.push(
      { name: `${plugin.name}: sends a reply`, run: () => sends(options, send.accepted, null) },
      {
        name: `${plugin.name}: takes a refusal of the platform for final`,
        run: () => sends(options, send.refused, { final: true }),
      },
      {
        name: `${plugin.name}: lets a platform that is down be tried again`,
        run: () => sends(options, () => new Response('', { status: 503 }), { final: false }),
      },
      {
        name: `${plugin.name}: hands on how long a platform wants it to wait`,
        run: () =>
          sends(options, () => new Response('{}', { status: 429, headers: { 'Retry-After': '7' } }), {
            final: false,
            retryAfterSeconds: 7,
          }),
      },
    );
  }
  return cases;
}

function hasShape(plugin: ChannelPlugin): void {
  assert.equal(plugin.apiVersion, 1);
  assert.match(plugin.name, /^[a-z][a-z0-9-]*$/);
  assert.ok(plugin.summary.length > 0, 'summary says whom it lets talk to the agent');
  const prefix = `${plugin.name.toUpperCase().replaceAll('-', '_')}_`;
  for (const { name, sentence } of plugin.settings) {
    assert.ok(name.startsWith(prefix), `setting ${name} begins with ${prefix}`);
    assert.ok(sentence.length > 0, `setting ${name} has a sentence`);
  }
}

function isDetected({ plugin, settings }: ConformanceOptions): void {
  assert.equal(plugin.detect(settings), true, 'detect() with the settings of the suite');
  const defaults = Object.fromEntries(plugin.settings.map(({ name, default: value }) => [name, value]));
  assert.equal(plugin.detect(defaults), false, 'detect() with nothing set');
}

async function stops(options: ConformanceOptions): Promise<void> {
  await make(options).channel.stop?.();
  const { channel } = make(options);
  await channel.start?.();
  await channel.stop?.();
}

function tellsHealth(options: ConformanceOptions): void {
  const health = make(options).channel.health?.() ?? { status: 'ok' };
  assert.ok(health.status === 'ok' || (health.status === 'degraded' && health.detail.length > 0));
}

async function parses(
  options: ConformanceOptions,
  request: SampleRequest,
  expect: readonly Partial<IncomingMessage>[],
): Promise<void> {
  const { channel, record } = make(options);
  const response = await deliver(channel, request);
  assert.ok((response.status ?? 200) < 300, `answered ${response.status}`);
  assert.equal(record.messages.length, expect.length, 'number of messages');
  record.messages.forEach((message, index) => {
    isWellFormed(options.plugin, message);
    for (const [field, value] of Object.entries(expect[index] ?? {})) {
      assert.deepEqual(message[field as keyof IncomingMessage], value, field);
    }
  });
}

function isWellFormed(plugin: ChannelPlugin, message: IncomingMessage): void {
  assert.equal(message.platform, plugin.name);
  const { user_id, alias_id = user_id, channel_id } = message;
  for (const text of [user_id, alias_id, channel_id, message.text]) {
    assert.ok(text.length > 0 && text.isWellFormed(), 'ids and text are not empty and well-formed');
  }
  if (plugin.capabilities.reply !== 'later') return;
  assert.ok(
    message.thread_id?.startsWith(`${plugin.name}:`),
    'thread_id begins with the name of the channel',
  );
  assert.ok(message.message_id, 'message_id identifies the message');
  assert.ok(message.reply_to, 'reply_to says where to answer');
  assert.ok(!('jwt_token' in message.metadata), 'a message that waits carries no token');
}

async function refuses(options: ConformanceOptions, request: SampleRequest, code: string): Promise<void> {
  const { channel, record } = make(options);
  await assert.rejects(
    () => deliver(channel, request),
    (error) => error instanceof RecordedProblem && error.code === code,
    `a problem with the code ${code}`,
  );
  assert.equal(record.messages.length, 0, 'nothing of it gets through');
}

async function answersOnlyWhatWasKept(options: ConformanceOptions): Promise<void> {
  const { channel } = make(options, {
    accept: () => Promise.reject(new RecordedProblem('unavailable', 'the store is out of reach')),
  });
  for (const { request, expect } of options.messages) {
    if (expect.length > 0) await assert.rejects(() => deliver(channel, request), RecordedProblem);
  }
}

async function namesRepeatsAlike(options: ConformanceOptions): Promise<void> {
  for (const { request } of options.messages) {
    const { channel, record } = make(options);
    await deliver(channel, request);
    const first = record.messages.splice(0).map(({ message_id }) => message_id);
    await deliver(channel, request);
    assert.deepEqual(
      record.messages.map(({ message_id }) => message_id),
      first,
    );
  }
}

async function sends(
  options: ConformanceOptions,
  answer: () => Response,
  failure: { final: boolean; retryAfterSeconds?: number } | null,
): Promise<void> {
  const { channel } = make(options, { fetch: async () => answer() });
  const { send } = options;
  assert.ok(channel.send && send, 'a channel that answers later has send()');
  const sending = channel.send(send.reply);
  if (!failure) return sending;
  await assert.rejects(sending, (error) => {
    if (!(error instanceof RecordedDeliveryFailure)) return !failure.final && !failure.retryAfterSeconds;
    assert.equal(error.final, failure.final);
    if (failure.retryAfterSeconds) assert.equal(error.retryAfterSeconds, failure.retryAfterSeconds);
    return true;
  });
}

/** What a channel did with its scope. */
interface Recorded {
  messages: IncomingMessage[];
  said: { reply_to: JsonObject; text: string }[];
}

function make(
  { plugin, settings }: ConformanceOptions,
  members: Partial<Pick<ChannelScope, 'accept' | 'fetch'>> = {},
): { channel: Channel; record: Recorded } {
  const record: Recorded = { messages: [], said: [] };
  const replyParts = new ReplyParts();
  const silent = () => undefined;
  const problem: ChannelScope['problem'] = (code, detail, errors) =>
    new RecordedProblem(code, detail, errors);
  const scope: ChannelScope = {
    settings,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    fetch: () => Promise.reject(new Error('this case does not let the channel call out')),
    now: () => Date.now(),
    async *converse(message) {
      record.messages.push(message);
      const session_id = message.thread_id ?? `${plugin.name}_conformance`;
      yield { type: 'started', session_id };
      yield { type: 'text_chunk', text: 'Hello.' };
      yield { type: 'complete', session_id, response: 'Hello.', replayed: false };
    },
    readMessage: (request, sources) => readMessage(plugin.name, request, sources, problem),
    readToken,
    streams: {
      async start(message) {
        record.messages.push(message);
        const session_id = message.thread_id ?? `${plugin.name}_conformance`;
        return { stream_id: `${plugin.name}_stream`, session_id };
      },
      open: async () => null,
      stop: async () => undefined,
    },
    accept: async (messages) => void record.messages.push(...messages),
    edit: async () => false,
    say: async (reply_to, text) => void record.said.push({ reply_to, text }),
    sendParts: (...reply) => replyParts.send(...reply),
    links: {
      link: async () => ({ linked: false, reason: NO_TOKEN, held: false }),
      unlink: async () => false,
      unlinkPerson: async () => ({ outcome: 'invalid', reason: NO_TOKEN }),
    },
    tokens: { validate: async () => ({ valid: false, reason: NO_TOKEN }) },
    problem,
    deliveryFailed: (reason, options) => new RecordedDeliveryFailure(reason, options),
    ...members,
  };
  return { channel: plugin.create(scope), record };
}

/** Finds the route and calls it as the daemon would. */
async function deliver(channel: Channel, sample: SampleRequest): Promise<ChannelResponse> {
  const url = new URL(sample.path, 'http://conformance');
  const method = sample.method ?? 'POST';
  for (const route of channel.routes) {
    const params = route.method === method ? match(route.path, url.pathname) : null;
    if (params) return route.handle(request(sample, method, url, params));
  }
  throw new Error(`the channel has no route for ${method} ${url.pathname}`);
}

function match(pattern: string, path: string): Record<string, string> | null {
  const [wanted, came] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== came.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = came[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(given);
    else if (part !== given) return null;
  }
  return params;
}

function request(
  sample: SampleRequest,
  method: string,
  url: URL,
  params: Record<string, string>,
): ChannelRequest {
  const body =
    typeof sample.body === 'string'
      ? new TextEncoder().encode(sample.body)
      : (sample.body ?? new Uint8Array());
  const headers = Object.fromEntries(
    Object.entries(sample.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const text = () => new TextDecoder().decode(body);
  return {
    id: 'conformance',
    method,
    path: url.pathname,
    params,
    query: url.searchParams,
    headers,
    body,
    json() {
      try {
        const value: unknown = JSON.parse(text());
        if (typeof value === 'object' && value !== null && !Array.isArray(value))
          return value as Record<string, unknown>;
      } catch {
        // Falls through to the same problem as a body that is no object.
      }
      throw new RecordedProblem('malformed_json', 'the body is no JSON object');
    },
    form: () => new URLSearchParams(text()),
    address: '127.0.0.1',
    signal: new AbortController().signal,
  };
}
