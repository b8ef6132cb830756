import assert from 'node:assert/strict';
import type { DeliveryFailure, JsonObject, OutgoingReply, ReplyConfirmation } from '../index.ts';
import type { Bench, StandIn, StandInCall } from './bench.ts';
import { leaks } from './faults.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import { RecordedDeliveryFailure } from './recording-scope.ts';

/** The members that the error of `send` must have. */
export interface Failure extends Pick<DeliveryFailure, 'final' | 'retry_after_seconds' | 'platform'> {}

/** A failure after which the daemon sends the reply again. */
export const PASSING: Failure = { final: false };

export interface Sending {
  platform: StandIn;
  /** The error of `send`; null if it resolves. */
  send(text?: string, id?: string): Promise<Error | null>;
  /** The ids of the messages that were sent, as `sendPart` resolved to them. */
  sent: readonly string[];
  /** Sends a reply with a question at its end. */
  ask(question: ReplyConfirmation): Promise<Error | null>;
}

/** Creates the channel, and lets the case send the reply of `createReply`, also with another text or id. */
export async function sending(
  bench: Bench,
  work: (sending: Sending) => Promise<void>,
  place: 'direct' | 'group' = 'direct',
  platform: StandIn = bench.platform(),
): Promise<void> {
  const reply = await createReply(bench, place);
  await withChannel(bench, { platform }, async (open) => {
    assert.ok(open.channel.send, 'a channel that delivers by push must have send()');
    const send = (text = reply.text, id = reply.id) => attempt(open, { ...reply, text, id });
    const ask = (confirmation: ReplyConfirmation) =>
      attempt(open, { ...reply, text: `${confirmation.lead}\n\n${confirmation.question}`, confirmation });
    await work({ platform, send, ask, sent: open.scope.sent });
  });
}

/** The answer to a message that the simulator delivered, or the reply in the options. */
export async function createReply(bench: Bench, place: 'direct' | 'group'): Promise<OutgoingReply> {
  const { simulator, options } = bench;
  if (!simulator) {
    if (!options.send) throw new Error('the options have no reply');
    return options.send.reply;
  }
  return withChannel(bench, { start: true }, async (open) => {
    await open.take(bench.delivery({ place }));
    const [message] = open.scope.enqueued;
    assert.ok(message, 'the delivery must make a message');
    const { thread_id, reply_to = {} } = message;
    // Copied as JSON, because the daemon passes a copy that it read from its store.
    const place_of = JSON.parse(JSON.stringify(reply_to)) as JsonObject;
    return { id: 'reply', session_id: thread_id, text: 'Good **morning**.', reply_to: place_of };
  });
}

export async function attempt(open: OpenChannel, reply: OutgoingReply): Promise<Error | null> {
  const error = await captureError(open.channel.send?.(reply));
  assert.ok(!leaks(error, open.secrets), 'the error of send() must not show a secret of the settings');
  return error;
}

export async function captureError(work: Promise<void> | undefined): Promise<Error | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

export function isSent(error: Error | null): void {
  assert.equal(error, null, `send() failed: ${error?.message}`);
}

export function isFailure(error: Error | null, { final, retry_after_seconds, platform }: Failure): void {
  assert.ok(error, 'send() resolved, but the platform did not accept the reply');
  if (!(error instanceof RecordedDeliveryFailure)) {
    const what = 'the daemon retries after an error that scope.deliveryFailed() did not make';
    assert.ok(!final && retry_after_seconds === undefined, `${what}: ${error.message}`);
    // The daemon recognizes network errors itself, so the channel need not set `platform` for them.
    const isOfNetwork = platform === 'unreachable' && error.cause instanceof Error;
    assert.ok(
      platform === undefined || isOfNetwork,
      `the error of send() must have \`platform: '${platform}'\`: ${error.message}`,
    );
    return;
  }
  assert.equal(error.final, final, `the error of send() must have \`final: ${final}\`: ${error.message}`);
  if (retry_after_seconds !== undefined) assert.equal(error.retry_after_seconds, retry_after_seconds);
  if (platform !== undefined)
    assert.equal(
      error.platform,
      platform,
      `the error of send() must have \`platform: '${platform}'\`: ${error.message}`,
    );
}

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response('{}', { status: code, headers: { 'Content-Type': 'application/json', ...headers } });
}

/** Factor by which timeouts are shortened. */
const FACTOR = 1000;

/** Number of calls of `withShortTimeouts` that are running. The usual timers are restored when the last one ends. */
let running = 0;
let restore = () => {};

/**
 * Shortens timeouts while `work` runs: `setTimeout` and `AbortSignal.timeout` of this process take a thousandth of the
 * given time. Everything else takes as long as usual.
 */
export async function withShortTimeouts<T>(work: () => Promise<T>): Promise<T> {
  if (running++ === 0) restore = shorten();
  try {
    return await work();
  } finally {
    if (--running === 0) restore();
  }
}

function shorten(): () => void {
  const { setTimeout: usual } = globalThis;
  const { timeout } = AbortSignal;
  const short = (callback: () => void, ms?: number, ...args: []) =>
    usual(callback, (ms ?? 0) / FACTOR, ...args);
  globalThis.setTimeout = Object.assign(short, usual) as typeof setTimeout;
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.ceil(ms / FACTOR));
  return () => {
    globalThis.setTimeout = usual;
    AbortSignal.timeout = timeout;
  };
}

/** Fails as `fetch` does if a header or the address is invalid: the error quotes the request. */
export function quoting({ method, path, headers, body }: StandInCall): Promise<Response> {
  const request = JSON.stringify({ method, path, headers, body });
  return Promise.reject(new TypeError(`cannot send ${request}`, { cause: new Error(request) }));
}

/** Never answers. The call ends when the channel gives up, or at the timeout of the scope's `fetch`. */
export function hanging({ signal }: StandInCall): Promise<Response> {
  return new Promise((_resolve, reject) => whenGivenUp(signal, reject));
}

export function whenGivenUp(signal: AbortSignal | undefined, give: (reason: unknown) => void): void {
  if (signal) signal.addEventListener('abort', () => give(signal.reason), { once: true });
  else setTimeout(() => give(new DOMException('The operation timed out.', 'TimeoutError')), 1);
}
