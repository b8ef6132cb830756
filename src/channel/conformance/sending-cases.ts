import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers';
import type { DeliveryFailure, JsonObject, OutgoingReply } from '../index.ts';
import { Bench } from './bench.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import type { ConformanceOptions, Trial, TrialOptions } from './options.ts';
import { inQuickTime } from './quick-time.ts';
import { RecordedDeliveryFailure } from './recorded-errors.ts';
import { tells } from './secrets.ts';
import type { StandIn, StandInCall, Trouble } from './stand-in.ts';

/** How long a call that hangs may take where time-outs take a thousandth, real ms. */
const PATIENCE_MS = 5_000;
/** Most of an answer that may be read, bytes. */
const READ_MAX = 16 * 1024 * 1024;
const CHUNK = new Uint8Array(65_536).fill(0x20);
/** Words of a reply that no platform takes in one message. */
const WORDS = 2_000;

interface Failure extends Pick<DeliveryFailure, 'final' | 'retryAfterSeconds' | 'platform'> {}

/** Where a redirection leads. */
const ELSEWHERE = 'https://elsewhere.invalid/';

const PASSING: Failure = { final: false };
const UNREACHABLE_PLATFORM: Failure = { final: false, platform: 'unreachable' };

/** How replies leave. */
export function sendingCases({ send, plugin }: ConformanceOptions): readonly [name: string, trial: Trial][] {
  const hasSecrets = plugin.settings.some(({ secret }) => secret);
  return [
    ['sends a reply', sends],
    ['sends a reply again when it is made anew', sendsTwice],
    ['sends a long reply whole', sendsWhole],
    ['goes on where a long reply broke off', goesOn],
    ...failing('takes a status 400 for final', () => status(400), { final: true }),
    ...failing('lets a platform that has failed be tried again', () => status(500), UNREACHABLE_PLATFORM),
    ...failing('lets a platform that is down be tried again', () => status(503), UNREACHABLE_PLATFORM),
    ...failing('hands on how long a platform wants it to wait', () => status(429, { 'Retry-After': '7' }), {
      final: false,
      retryAfterSeconds: 7,
    }),
    ...failing(
      'hands on how long a failing platform wants it to wait',
      () => status(503, { 'Retry-After': '7' }),
      {
        final: false,
        retryAfterSeconds: 7,
      },
    ),
    ...failing('lets a platform that asks to wait be tried again', () => status(429), PASSING),
    ...failing(
      'lets a network that has failed be tried again',
      () => Promise.reject(UNREACHABLE),
      UNREACHABLE_PLATFORM,
    ),
    ...failing('tells nothing of a request that could not be sent', quoting, PASSING),
    ...(send ? failing('takes a refusal of the platform for final', send.refused, { final: true }) : []),
    ['takes answers that are none of the platform for no refusal', survivesNonsense],
    ['follows the platform to no other address', staysAtHome],
    ['reads no more of an answer than it must', readsWithinBounds],
    ['gives up a platform that hangs', givesUp],
    ...(hasSecrets ? [['says that its credentials are refused', tellsOfCredentials] as [string, Trial]] : []),
    ...(plugin.capabilities.typing
      ? [['shows typing, or fails to, and sends', types] as [string, Trial]]
      : []),
  ];
}

function failing(name: string, trouble: Trouble, failure: Failure): [string, Trial][] {
  const trial: Trial = async (options) => {
    await sending(await Bench.set(options), async ({ send, platform }) => {
      platform.trouble = trouble;
      isFailure(await send(), failure);
      platform.trouble = () => null;
    });
  };
  return [[name, trial]];
}

async function sends(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  for (const place of bench.simulator ? bench.places : (['direct'] as const)) {
    await sending(
      bench,
      async ({ send, platform }) => {
        await send().then(isSent);
        assert.ok(platform.seen.length > 0, 'nobody saw the reply');
      },
      place,
    );
  }
}

/** The process that sent it may have died before it could say so. */
async function sendsTwice(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  const platform = bench.platform();
  await sending(bench, async ({ send }) => isSent(await send()), 'direct', platform);
  const first = platform.seen.splice(0);
  await sending(bench, async ({ send }) => isSent(await send()), 'direct', platform);
  assert.equal(platform.seen.length, first.length, 'the reply is sent again');
}

async function sendsWhole(options: TrialOptions): Promise<void> {
  await sending(await Bench.set(options), async ({ send, platform }) => {
    isSent(await send(LONG.text));
    assert.deepEqual(wordsIn(platform.seen), LONG.words);
  });
}

async function goesOn(options: TrialOptions): Promise<void> {
  await sending(await Bench.set(options), async ({ send, platform }) => {
    // Broken off before the last part, so that there is something to go on with, where there are parts.
    isSent(await send(LONG.text, 'another reply'));
    const parts = platform.seen.splice(0).length;
    const before = platform.calls.length;
    platform.trouble = () => (platform.calls.length - before === parts ? status(500) : null);
    isFailure(await send(LONG.text), PASSING);
    platform.trouble = () => null;
    isSent(await send(LONG.text));
    assert.deepEqual(wordsIn(platform.seen), LONG.words, 'the words that people see, each once');
  });
}

async function survivesNonsense(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  const bodies = ['', '<html>', 'null', '[]', '"ok"', '{"ok":"perhaps"}', '{"error":[]}', '\u0000', '{'];
  for (const code of [200, 307, 500]) {
    for (const body of [...bodies, '['.repeat(50_000) + ']'.repeat(50_000)]) {
      for (const type of ['application/json', 'text/html']) {
        await sending(bench, async ({ send, platform }) => {
          const headers = {
            'Content-Type': type,
            ...(code === 307 ? { Location: 'http://127.0.0.1:9' } : {}),
          };
          platform.trouble = () => new Response(body, { status: code, headers });
          const error = await send();
          if (code !== 200 || error !== null) isFailure(error, PASSING);
        });
      }
    }
  }
}

/** What people wrote, and the channel's credentials, are for the configured address alone. */
async function staysAtHome(options: TrialOptions): Promise<void> {
  await sending(await Bench.set(options), async ({ send, platform }) => {
    platform.trouble = ({ path }) =>
      path.startsWith(ELSEWHERE) ? null : new Response('', { status: 307, headers: { Location: ELSEWHERE } });
    const error = await send();
    const strayed = platform.calls.filter(({ path }) => path.startsWith(ELSEWHERE));
    assert.equal(strayed.length, 0, 'the reply was sent to the address of a redirection');
    isFailure(error, PASSING);
  });
}

async function readsWithinBounds(options: TrialOptions): Promise<void> {
  for (const code of [200, 500]) {
    await sending(await Bench.set(options), async ({ send, platform }) => {
      let read = 0;
      platform.trouble = () =>
        new Response(
          new ReadableStream({
            pull(out) {
              read += CHUNK.length;
              // What reads more than this has no bound; it has to end somewhere.
              if (read > READ_MAX) out.close();
              else out.enqueue(CHUNK);
            },
          }),
          { status: code, headers: { 'Content-Type': 'application/json' } },
        );
      const error = await send();
      if (error !== null) isFailure(error, PASSING);
      assert.ok(read <= READ_MAX, `${READ_MAX} bytes of an answer were read`);
    });
  }
}

async function givesUp(options: TrialOptions): Promise<void> {
  for (const trouble of [hanging, stalling]) {
    await sending(await Bench.set(options), async ({ send, platform }) => {
      // What is loaded with the first reply takes its own time.
      isSent(await send());
      platform.trouble = trouble;
      const error = await inQuickTime(() => inTime(send(LONG.text, 'another reply')));
      if (trouble === hanging || error !== null) isFailure(error, PASSING);
    });
  }
}

async function tellsOfCredentials(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  const reply = await replyOf(bench, 'direct');
  const settings = bench.simulator ? bench.foreignSettings : bench.settings;
  const platform = bench.platform();
  await withChannel(bench, { settings, platform }, async (open) => {
    const { credentialsRefused } = options.send ?? {};
    if (credentialsRefused) platform.trouble = credentialsRefused;
    else if (!bench.simulator) return;
    const error = await attempt(open, reply);
    if (error === null) {
      assert.ok(platform.seen.length > 0, 'send() resolved, and nobody saw the reply');
      // A platform that lets everybody send has no credentials to refuse.
      return;
    }
    isFailure(error, { final: false, platform: 'credentials' });
    const health = open.health();
    assert.equal(health.status, 'degraded', 'health() after credentials were refused');
    assert.ok(health.detail, 'health() says what is the matter');
    open.look();
    const mended = bench.platform(settings);
    platform.trouble = ({ path, method, headers, body }) =>
      mended.fetch(bench.apiUrl(settings) + path, { method, headers, ...(body === '' ? {} : { body }) });
    if (!bench.simulator) platform.trouble = () => null;
    isSent(await attempt(open, { ...reply, id: 'another reply' }));
    assert.equal(open.health().status, 'ok', 'health() after credentials were taken again');
  });
}

async function types(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  const reply = await replyOf(bench, 'direct');
  const troubles: Trouble[] = [() => null, () => status(500), () => status(400), hanging, quoting];
  for (const trouble of troubles) {
    const platform = bench.platform();
    await withChannel(bench, { platform }, async (open) => {
      assert.ok(open.channel.typing, 'a channel that can show typing has typing()');
      isSent(await attempt(open, reply));
      platform.trouble = trouble;
      const error = await inQuickTime(() => inTime(outcomeOf(open.channel.typing?.(reply.reply_to))));
      assert.ok(!tells(error, open.secrets), 'what typing() throws tells a secret of the settings');
      platform.trouble = () => null;
      isSent(await attempt(open, { ...reply, id: 'another reply' }));
    });
  }
}

interface Sending {
  platform: StandIn;
  /** What it throws, null where it resolves. */
  send(text?: string, id?: string): Promise<Error | null>;
}

async function sending(
  bench: Bench,
  work: (sending: Sending) => Promise<void>,
  place: 'direct' | 'group' = 'direct',
  platform: StandIn = bench.platform(),
): Promise<void> {
  const reply = await replyOf(bench, place);
  await withChannel(bench, { platform }, async (open) => {
    assert.ok(open.channel.send, 'a channel that answers later has send()');
    const send = (text = reply.text, id = reply.id) => attempt(open, { ...reply, text, id });
    await work({ platform, send });
  });
}

/** An answer to a message that was really delivered, where there is a simulator. */
async function replyOf(bench: Bench, place: 'direct' | 'group'): Promise<OutgoingReply> {
  const { simulator, options } = bench;
  if (!simulator) {
    if (!options.send) throw new Error('the options say no reply that could be sent');
    return options.send.reply;
  }
  return withChannel(bench, { start: true }, async (open) => {
    await open.take(bench.delivery({ place }));
    const [message] = open.scope.enqueued;
    assert.ok(message, 'a message comes of one that was written');
    const { thread_id, reply_to = {} } = message;
    // As it comes back from the store.
    const place_of = JSON.parse(JSON.stringify(reply_to)) as JsonObject;
    return { id: 'reply', session_id: thread_id, text: 'Good **morning**.', reply_to: place_of };
  });
}

async function attempt(open: OpenChannel, reply: OutgoingReply): Promise<Error | null> {
  const error = await outcomeOf(open.channel.send?.(reply));
  assert.ok(!tells(error, open.secrets), 'what send() throws tells a secret of the settings');
  return error;
}

async function outcomeOf(work: Promise<void> | undefined): Promise<Error | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isSent(error: Error | null): void {
  assert.equal(error, null, `send() failed: ${error?.message}`);
}

function isFailure(error: Error | null, { final, retryAfterSeconds, platform }: Failure): void {
  assert.ok(error, 'send() resolved, though the platform did not take the reply');
  if (!(error instanceof RecordedDeliveryFailure)) {
    const what = 'an error that scope.deliveryFailed() did not make is tried again';
    assert.ok(!final && retryAfterSeconds === undefined, `${what}: ${error.message}`);
    // The daemon knows failures of the network by themselves.
    const isOfNetwork = platform === 'unreachable' && error.cause instanceof Error;
    assert.ok(platform === undefined || isOfNetwork, `platform: '${platform}', of: ${error.message}`);
    return;
  }
  assert.equal(error.final, final, `final, of: ${error.message}`);
  if (retryAfterSeconds !== undefined) assert.equal(error.retryAfterSeconds, retryAfterSeconds);
  if (platform !== undefined) assert.equal(error.platform, platform, `platform, of: ${error.message}`);
}

function status(code: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response('{}', { status: code, headers: { 'Content-Type': 'application/json', ...headers } });
}

const UNREACHABLE = new TypeError('fetch failed', {
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' }),
});

/** As of a header or an address that cannot be sent: such errors quote what they are about. */
function quoting({ method, path, headers, body }: StandInCall): Promise<Response> {
  const request = JSON.stringify({ method, path, headers, body });
  return Promise.reject(new TypeError(`cannot send ${request}`, { cause: new Error(request) }));
}

/** No answer, until the channel gives up; where it leaves that to the scope's `fetch`, until that does. */
function hanging({ signal }: StandInCall): Promise<Response> {
  return new Promise((_resolve, reject) => whenGivenUp(signal, reject));
}

/** An answer whose body does not end. */
function stalling({ signal }: StandInCall): Response {
  const body = new ReadableStream({
    start: (out) => {
      out.enqueue(new TextEncoder().encode('{"ok":'));
      whenGivenUp(signal, (reason) => out.error(reason));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'application/json' } });
}

function whenGivenUp(signal: AbortSignal | undefined, give: (reason: unknown) => void): void {
  if (signal) signal.addEventListener('abort', () => give(signal.reason), { once: true });
  else setTimeout(() => give(new DOMException('The operation timed out.', 'TimeoutError')), 1);
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const late = new assert.AssertionError({ message: 'a call to a platform that hangs must end within 60 s' });
  const timer = setTimeout(() => reject(late), PATIENCE_MS);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Numbered words, in sentences and paragraphs. */
const LONG = (() => {
  const words = Array.from({ length: WORDS }, (_none, index) => `w${String(index).padStart(5, '0')}`);
  const after = (index: number) => (index % 50 === 49 ? '.\n\n' : index % 10 === 9 ? '. ' : ' ');
  return { words, text: words.map((word, index) => word + after(index)).join('') };
})();

function wordsIn(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.match(/w\d{5}/g) ?? []);
}
