import assert from 'node:assert/strict';
import createFindMyWay, { type HTTPMethod } from 'find-my-way';
import type { Channel, ChannelRequest, ChannelResponse, ChannelSettings, Route } from '../index.ts';
import { jsonObjectOrNull } from '../json-object.ts';
import { readMultipart } from '../payload.ts';
import { hasOwnConnection } from '../simulator.ts';
import type { Bench, StandIn } from './bench.ts';
import { faultsOfEdit, faultsOfMessage, faultsOfNotice, leaks, listSecrets } from './faults.ts';
import type { Evidence, SampleRequest } from './options.ts';
import {
  type AnyScope,
  createIn,
  RecordedProblem,
  type RecordingScope,
  recordingScope,
} from './recording-scope.ts';

/** Maximum number of times that a request is delivered while the channel answers 503. */
const DELIVERIES_MAX = 10;
/** Longest value of a path parameter, in characters, as in the daemon. */
const PARAM_MAX = 16_384;
/** Status with which the daemon answers each problem. */
const STATUS: Readonly<Record<string, number>> = {
  malformed_json: 400,
  invalid_request: 400,
  invalid_signature: 401,
  forbidden: 403,
  session_forbidden: 403,
  not_found: 404,
  unavailable: 503,
};

/** The answer to a delivery. */
export interface Outcome {
  status: number;
  /** Code of the problem; null if there is none. */
  code: string | null;
}

/** A channel in use, and everything that it did. */
export class OpenChannel {
  readonly channel: Channel;
  readonly scope: RecordingScope;
  readonly secrets: readonly string[];
  /** Number of messages of each call of `enqueue`. */
  readonly batches: number[] = [];
  readonly faults: string[] = [];

  constructor(bench: Bench, settings: ChannelSettings, members: Partial<AnyScope>) {
    const { plugin, evidence } = bench;
    this.#evidence = evidence;
    this.secrets = [...listSecrets(plugin, settings), ...listSecrets(plugin, bench.settings)];
    const scope = recordingScope(plugin.name, settings, members);
    const { enqueue, notify, edit } = scope;
    // Calls are checked here, because a case may replace these members with failing ones.
    scope.enqueue = (messages, request) => {
      this.batches.push(messages.length);
      return enqueue(messages, request);
    };
    scope.notify = (reply_to, text, options) => {
      this.faults.push(...faultsOfNotice(reply_to, text, options));
      return notify(reply_to, text, options);
    };
    scope.edit = (edited) => {
      this.faults.push(...faultsOfEdit(edited));
      return edit(edited);
    };
    this.scope = scope;
    this.channel = createIn(plugin, scope);
    this.#hasOwnConnection = hasOwnConnection(plugin);
    this.#findFaults = (message) => faultsOfMessage(plugin, message, this.secrets);
  }

  readonly #evidence: Evidence;
  readonly #hasOwnConnection: boolean;
  readonly #findFaults: (message: RecordingScope['enqueued'][number]) => string[];

  /**
   * Delivers a request as the platform does: after a 503, it delivers the request again.
   * @throws each error of the channel that is not a problem
   */
  async deliver(request: SampleRequest): Promise<Outcome> {
    for (let count = 1; ; count++) {
      const outcome = await this.deliverOnce(request);
      if (outcome.status !== 503 || count === DELIVERIES_MAX) return outcome;
    }
  }

  async deliverOnce(request: SampleRequest): Promise<Outcome> {
    const note = this.#evidence.delivery(request);
    try {
      const { status = 200 } = this.#hasOwnConnection
        ? await this.#receive(request)
        : await deliver(this.channel, request);
      note(String(status));
      return { status, code: null };
    } catch (error) {
      note(error instanceof RecordedProblem ? error.code : String(error));
      assert.ok(!leaks(error, this.secrets), 'a problem must not show a secret of the settings');
      if (error instanceof RecordedProblem) return { status: STATUS[error.code] ?? 500, code: error.code };
      throw error;
    }
  }

  /** Passes the update to the channel, as its own connection does. */
  async #receive({ body = '' }: SampleRequest): Promise<{ status: number }> {
    assert.ok(this.channel.receive, '`receive` must exist, since `capabilities.webhook` is false');
    await this.channel.receive(Buffer.from(body));
    return { status: 200 };
  }

  /** Delivers a request that the channel must acknowledge. */
  async take(request: SampleRequest): Promise<void> {
    const { status, code } = await this.deliver(request);
    assert.ok(status < 300, `a delivery was answered ${status}${code === null ? '' : ` ${code}`}`);
  }

  /** Checks everything that the channel enqueued, logged and reported as its health so far. */
  inspect(): void {
    const { enqueued, logged } = this.scope;
    assert.deepEqual([...this.faults, ...enqueued.flatMap(this.#findFaults)], []);
    const leaking = logged.find((line) => leaks(line, this.secrets));
    assert.ok(!leaking, `a log line must not show a secret of the settings: ${leaking?.message}`);
    const health = this.health();
    assert.ok(!leaks(health, this.secrets), 'health() must not show a secret of the settings');
  }

  health(): { status: string; detail?: string } {
    return this.channel.health?.() ?? { status: 'ok' };
  }

  /** Clears the record for the next delivery. */
  forget(): void {
    const { enqueued, notices, edited, logged } = this.scope;
    for (const list of [enqueued, notices, edited, logged, this.faults, this.batches]) list.length = 0;
  }
}

interface Opening {
  settings?: ChannelSettings;
  platform?: StandIn;
  /** Whether to call the channel's `start`. Default false. */
  start?: boolean;
  members?: Partial<AnyScope>;
}

/** Creates a channel, runs `work` with it, inspects what the channel did, and stops it. */
export async function withChannel<T>(
  bench: Bench,
  { settings = bench.settings, platform = bench.platform(), start = false, members = {} }: Opening,
  work: (channel: OpenChannel) => Promise<T>,
): Promise<T> {
  const open = new OpenChannel(bench, settings, { fetch: platform.fetch, ...members });
  try {
    if (start) await open.channel.start?.();
    const result = await work(open);
    open.inspect();
    return result;
  } finally {
    await open.channel.stop?.();
  }
}

/** Finds the route of a request and calls it as the daemon does. */
export async function deliver(channel: Channel, sample: SampleRequest): Promise<ChannelResponse> {
  const url = new URL(sample.path, 'http://conformance');
  const method = sample.method ?? 'POST';
  const router = createFindMyWay({ maxParamLength: PARAM_MAX });
  for (const route of channel.routes) router.on(route.method, route.path, () => undefined, route);
  const found = router.find(method as HTTPMethod, url.pathname);
  if (found === null) throw new Error(`the channel has no route for ${method} ${url.pathname}`);
  return (found.store as Route).handle(
    request(sample, method, url, found.params as ChannelRequest['params']),
  );
}

function request(
  sample: SampleRequest,
  method: string,
  url: URL,
  params: ChannelRequest['params'],
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
    json: () => objectIn(text()),
    form: () => new URLSearchParams(text()),
    async multipart() {
      const parts = await readMultipart(headers['content-type'], body);
      if (parts === null) throw new RecordedProblem('invalid_request', 'the body is not multipart/form-data');
      return parts;
    },
    address: '127.0.0.1',
    signal: new AbortController().signal,
  };
}

function objectIn(text: string): Record<string, unknown> {
  const value = jsonObjectOrNull(text);
  if (value === null) throw new RecordedProblem('malformed_json', 'the body is not a JSON object');
  return value;
}
