import assert from 'node:assert/strict';
import type { Channel, ChannelScope, ChannelSettings } from '../index.ts';
import type { Bench } from './bench.ts';
import { deliver } from './deliver.ts';
import type { Evidence } from './evidence.ts';
import { faultsOfEdit, faultsOfMessage, faultsOfSaid } from './faults.ts';
import type { SampleRequest } from './options.ts';
import { RecordedProblem } from './recorded-errors.ts';
import { type RecordingScope, recordingScope } from './recording-scope.ts';
import { secretsOf, tells } from './secrets.ts';
import type { StandIn } from './stand-in.ts';

/** Deliveries of one request at most, where the channel asks the platform to come again. */
const DELIVERIES_MAX = 10;
/** What the daemon answers to the problems of a channel. */
const STATUS: Readonly<Record<string, number>> = {
  malformed_json: 400,
  invalid_request: 400,
  invalid_signature: 401,
  forbidden: 403,
  session_forbidden: 403,
  not_found: 404,
  unavailable: 503,
};

/** How a delivery was answered. */
export interface Outcome {
  status: number;
  /** Of the problem; null where it is none. */
  code: string | null;
}

/** A channel at work: what it did, and what was wrong with it. */
export class OpenChannel {
  readonly channel: Channel;
  readonly scope: RecordingScope;
  readonly secrets: readonly string[];
  /** Number of messages of each call of `enqueue`. */
  readonly batches: number[] = [];
  readonly faults: string[] = [];

  constructor(bench: Bench, settings: ChannelSettings, members: Partial<ChannelScope>) {
    const { plugin, evidence } = bench;
    this.#evidence = evidence;
    this.secrets = [...secretsOf(plugin, settings), ...secretsOf(plugin, bench.settings)];
    const scope = recordingScope(plugin.name, settings, members);
    const { enqueue, notify, edit } = scope;
    // They are looked at in any case: a case may let the doors fail.
    scope.enqueue = (messages, request) => {
      this.batches.push(messages.length);
      return enqueue(messages, request);
    };
    scope.notify = (reply_to, text, options) => {
      this.faults.push(...faultsOfSaid(reply_to, text, options?.message_id));
      return notify(reply_to, text, options);
    };
    scope.edit = (message_id, text) => {
      this.faults.push(...faultsOfEdit(message_id, text));
      return edit(message_id, text);
    };
    this.scope = scope;
    this.channel = plugin.create(scope);
    this.#faultsOf = (message) => faultsOfMessage(plugin, message, this.secrets);
  }

  readonly #evidence: Evidence;
  readonly #faultsOf: (message: RecordingScope['enqueued'][number]) => string[];

  /** As the platform does it: what is answered 503 is brought again. @throws what is no problem */
  async deliver(request: SampleRequest): Promise<Outcome> {
    for (let count = 1; ; count++) {
      const outcome = await this.deliverOnce(request);
      if (outcome.status !== 503 || count === DELIVERIES_MAX) return outcome;
    }
  }

  async deliverOnce(request: SampleRequest): Promise<Outcome> {
    const note = this.#evidence.delivery(request);
    try {
      const { status = 200 } = await deliver(this.channel, request);
      note(String(status));
      return { status, code: null };
    } catch (error) {
      note(error instanceof RecordedProblem ? error.code : String(error));
      assert.ok(!tells(error, this.secrets), 'a problem tells a secret of the settings');
      if (error instanceof RecordedProblem) return { status: STATUS[error.code] ?? 500, code: error.code };
      throw error;
    }
  }

  /** Delivers what must be taken. */
  async take(request: SampleRequest): Promise<void> {
    const { status, code } = await this.deliver(request);
    assert.ok(status < 300, `a delivery was answered ${status}${code === null ? '' : ` ${code}`}`);
  }

  /** What was wrong so far: with what was handed over, what was logged, and how the channel says it is. */
  look(): void {
    const { enqueued, logged } = this.scope;
    assert.deepEqual([...this.faults, ...enqueued.flatMap(this.#faultsOf)], []);
    const telling = logged.find((line) => tells(line, this.secrets));
    assert.ok(!telling, `a line of the log tells a secret of the settings: ${telling?.message}`);
    const health = this.health();
    assert.ok(!tells(health, this.secrets), 'health() tells a secret of the settings');
  }

  health(): { status: string; detail?: string } {
    return this.channel.health?.() ?? { status: 'ok' };
  }

  /** Forgets what was done, for the next delivery. */
  forget(): void {
    const { enqueued, notices, edited, logged } = this.scope;
    for (const list of [enqueued, notices, edited, logged, this.faults, this.batches]) list.length = 0;
  }
}

interface Opening {
  settings?: ChannelSettings;
  platform?: StandIn;
  /** Otherwise it is made, and not started. */
  start?: boolean;
  members?: Partial<ChannelScope>;
}

/** Makes the channel anew, works with it, looks at what it did, and stops it. */
export async function withChannel<T>(
  bench: Bench,
  { settings = bench.settings, platform = bench.platform(), start = false, members = {} }: Opening,
  work: (channel: OpenChannel) => Promise<T>,
): Promise<T> {
  const open = new OpenChannel(bench, settings, { fetch: platform.fetch, ...members });
  try {
    if (start) await open.channel.start?.();
    const result = await work(open);
    open.look();
    return result;
  } finally {
    await open.channel.stop?.();
  }
}
