import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers';
import type { ShownButton } from '../index.ts';
import type { Bench, StandInCall, Trouble } from './bench.ts';
import { leaks } from './faults.ts';
import { withChannel } from './open-channel.ts';
import type { ConformanceOptions, Trial } from './options.ts';
import {
  attempt,
  captureError,
  createReply,
  type Failure,
  hanging,
  isFailure,
  isSent,
  PASSING,
  quoting,
  sending,
  status,
  whenGivenUp,
  withShortTimeouts,
} from './send-reply.ts';

/**
 * How long to wait for a call that must end within 60 s, in real ms. Shortened timeouts turn the 60 s into 60 ms; the
 * rest is for busy machines.
 */
const PATIENCE_MS = 3_000;
/** Number of words in a reply that is too long for one message on any platform. */
const WORDS = 2_000;

/** Target of a redirect. */
const ELSEWHERE = 'https://elsewhere.invalid/';

const UNREACHABLE: Failure = { final: false, platform: 'unreachable' };

/** Cases about `send` and `typing`, for channels that deliver by push. */
export function sendingCases({ send, plugin }: ConformanceOptions): readonly [name: string, trial: Trial][] {
  const hasSecrets = plugin.settings.some(({ secret }) => secret);
  return [
    ['sends a reply', sends],
    ['sends a reply again after a restart', sendsAgain],
    ['sends a long reply in full', sendsLong],
    ['continues a long reply at the part that failed', continues],
    ['sends a question, with buttons that answer it if the channel has buttons', asks],
    ['sends a long question in full', asksLong],
    ['takes the buttons away from a question that was answered, also after a restart', closes],
    failing('reports status 400 as a final failure', () => status(400), { final: true }),
    failing('reports status 429 as a failure that allows a retry', () => status(429), PASSING),
    failing('passes on Retry-After', () => status(429, { 'Retry-After': '7' }), {
      final: false,
      retry_after_seconds: 7,
    }),
    failing('reports status 500 as an unreachable platform', () => status(500), UNREACHABLE),
    failing('reports status 503 as an unreachable platform', () => status(503), UNREACHABLE),
    failing(
      'reports a network error as an unreachable platform',
      () => Promise.reject(NETWORK_ERROR),
      UNREACHABLE,
    ),
    failing('keeps the request out of errors and logs if it cannot be sent', quoting, PASSING),
    ...(send
      ? [failing('reports a refusal by the platform as a final failure', send.refused, { final: true })]
      : []),
    ['does not follow a redirect to another address', followsNoRedirect],
    ['gives up on a platform that does not answer', givesUp],
    ...(hasSecrets
      ? [
          ['reports credentials that the platform refuses, and recovers', reportsCredentials] as [
            string,
            Trial,
          ],
        ]
      : []),
    ...(plugin.capabilities.typing
      ? [['sends the reply, whether typing works or fails', types] as [string, Trial]]
      : []),
  ];
}

/** A case in which the platform answers with `trouble`, and `send` must fail with `failure`. */
export function failing(name: string, trouble: Trouble, failure: Failure): [string, Trial] {
  const trial: Trial = async (bench) => {
    await sending(bench, async ({ send, platform }) => {
      platform.trouble = trouble;
      isFailure(await send(), failure);
      platform.trouble = () => null;
    });
  };
  return [name, trial];
}

async function sends(bench: Bench): Promise<void> {
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

/**
 * A new process sends the whole reply again, because the first process may have died after the platform accepted the
 * reply, but before the daemon stored that it was sent.
 */
async function sendsAgain(bench: Bench): Promise<void> {
  const platform = bench.platform();
  await sending(bench, async ({ send }) => isSent(await send()), 'direct', platform);
  const first = platform.seen.splice(0);
  await sending(bench, async ({ send }) => isSent(await send()), 'direct', platform);
  assert.equal(
    platform.seen.length,
    first.length,
    'the second attempt must show people as many messages as the first',
  );
}

async function sendsLong(bench: Bench): Promise<void> {
  await sending(bench, async ({ send, platform }) => {
    isSent(await send(LONG.text));
    assert.deepEqual(wordsIn(platform.seen), LONG.words);
  });
}

const QUESTION = {
  id: 'AAAAAAAAAAAAAAAAAAAAAA',
  lead: 'I can do this.',
  question: 'Please confirm: Cancel order "1004"',
  confirm: 'Confirm',
  decline: 'Cancel',
};

/** A press must say who pressed which button, and where, so that the daemon can compare it with the question. */
async function asks(bench: Bench): Promise<void> {
  for (const place of bench.simulator ? bench.places : (['direct'] as const)) {
    const buttons = await askedIn(bench, place);
    for (const [index, approve] of [true, false].entries()) {
      const button = buttons[index];
      if (button) await presses(bench, { place, press: button.press, approve });
    }
  }
}

async function askedIn(bench: Bench, place: 'direct' | 'group'): Promise<readonly ShownButton[]> {
  let buttons: readonly ShownButton[] = [];
  await sending(
    bench,
    async ({ ask, platform }) => {
      isSent(await ask(QUESTION));
      assert.match(platform.seen.join('\n'), /Cancel order (?:\\?"|&quot;)1004/, 'what people saw');
      buttons = platform.buttons;
    },
    place,
  );
  const labels = buttons.map(({ label }) => label);
  assert.ok(
    buttons.length === 0 || labels.join() === [QUESTION.confirm, QUESTION.decline].join(),
    `the buttons must be those of the question, not ${labels.join()}`,
  );
  return buttons;
}

async function presses(
  bench: Bench,
  { place, press, approve }: { place: 'direct' | 'group'; press: string; approve: boolean },
): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    await open.take(bench.delivery({ place }));
    await open.take(bench.delivery({ kind: 'press', text: press, place }));
    const [message] = open.scope.enqueued;
    const [pressed] = open.scope.pressed;
    assert.ok(pressed, 'the press must be passed on with scope.press()');
    assert.deepEqual(pressed.confirm, { id: QUESTION.id, approve });
    assert.equal(pressed.text, '', 'a press has no text');
    for (const member of ['user_id', 'thread_id', 'channel_id', 'shared'] as const)
      assert.equal(pressed[member], message?.[member], `${member} of the press and of the message`);
    assert.notEqual(pressed.message_id, message?.message_id, 'a press is a separate message');
  });
}

/** The outcome takes the place of the buttons. If the message cannot be changed, the daemon must learn it. */
async function closes(bench: Bench): Promise<void> {
  for (const place of bench.simulator ? bench.places : (['direct'] as const)) {
    const platform = bench.platform();
    let sent_id: string | undefined;
    const confirmation = {
      ...QUESTION,
      actions: [{ number: 1, title: 'Cancel order "1004"', details: DETAILS }],
    };
    await sending(
      bench,
      async ({ ask, sent }) => {
        isSent(await ask(confirmation));
        sent_id = sent.at(-1);
      },
      place,
      platform,
    );
    const { reply_to } = await createReply(bench, place);
    platform.seen.splice(0);
    await withChannel(bench, { platform }, async ({ channel }) => {
      if (!channel.closeQuestion) return;
      assert.ok(sent_id, 'a channel with closeQuestion() must return the id of a message from sendPart');
      const closed = { sent_id, reply_to, confirmation, outcome: OUTCOME };
      const close = () => captureError(channel.closeQuestion?.(closed));
      platform.trouble = () => status(500);
      isFailure(await close(), UNREACHABLE);
      platform.trouble = () => null;
      isSent(await close());
      assert.match(platform.seen.join('\n'), /Cancel order (?:\\?"|&quot;)1004/, 'what people saw');
      assert.match(platform.seen.join('\n'), /Confirmed by Ada at 14:05\./, 'what people saw');
      assert.equal(platform.buttons.length, 0, 'the buttons must be gone');
    });
  }
}

const DETAILS = [{ label: 'reason', value: '"late"' }];
const OUTCOME = 'Confirmed by Ada at 14:05. This was done.';

async function asksLong(bench: Bench): Promise<void> {
  await sending(bench, async ({ ask, platform }) => {
    const words = LONG.words.slice(0, 400);
    isSent(await ask({ ...QUESTION, question: words.join(' ') }));
    assert.deepEqual(wordsIn(platform.seen), words, 'words that people saw');
  });
}

async function continues(bench: Bench): Promise<void> {
  await sending(bench, async ({ send, platform }) => {
    // The last call fails. If the reply needs several calls, the others must not be made again.
    isSent(await send(LONG.text, 'another reply'));
    platform.seen.splice(0);
    const last = platform.calls.length * 2;
    platform.trouble = (_call, count) => (count === last ? status(500) : null);
    isFailure(await send(LONG.text), PASSING);
    platform.trouble = () => null;
    isSent(await send(LONG.text));
    assert.deepEqual(wordsIn(platform.seen), LONG.words, 'words that people saw');
  });
}

/** Replies and credentials must reach no address other than the configured one. */
async function followsNoRedirect(bench: Bench): Promise<void> {
  await sending(bench, async ({ send, platform }) => {
    platform.trouble = ({ path }) =>
      path.startsWith(ELSEWHERE) ? null : new Response('', { status: 307, headers: { Location: ELSEWHERE } });
    const error = await send();
    const redirected = platform.calls.filter(({ path }) => path.startsWith(ELSEWHERE));
    assert.equal(redirected.length, 0, 'send() must not call the target of a redirect');
    isFailure(error, PASSING);
  });
}

async function givesUp(bench: Bench): Promise<void> {
  for (const trouble of [hanging, stalling]) {
    await sending(bench, async ({ send, platform }) => {
      // The first reply may load modules, which takes real time.
      isSent(await send());
      platform.trouble = trouble;
      const error = await withShortTimeouts(() => inTime(send(LONG.text, 'another reply')));
      if (trouble === hanging || error !== null) isFailure(error, PASSING);
    });
  }
}

async function reportsCredentials(bench: Bench): Promise<void> {
  const reply = await createReply(bench, 'direct');
  const settings = bench.simulator ? bench.foreignSettings : bench.settings;
  const platform = bench.platform();
  await withChannel(bench, { settings, platform }, async (open) => {
    const { credentialsRefused } = bench.options.send ?? {};
    if (credentialsRefused) platform.trouble = credentialsRefused;
    else if (!bench.simulator) return;
    const error = await attempt(open, reply);
    if (error === null) {
      assert.ok(platform.seen.length > 0, 'send() resolved, but nobody saw the reply');
      // This platform accepts messages without valid credentials.
      return;
    }
    isFailure(error, { final: false, platform: 'credentials' });
    open.inspect();
    const recovered = bench.platform(settings);
    platform.trouble = ({ path, method, headers, body }) =>
      recovered.fetch(bench.apiUrl(settings) + path, { method, headers, ...(body === '' ? {} : { body }) });
    if (!bench.simulator) platform.trouble = () => null;
    isSent(await attempt(open, { ...reply, id: 'another reply' }));
    assert.equal(open.health().status, 'ok', 'health() must be ok after the platform accepts a reply');
  });
}

async function types(bench: Bench): Promise<void> {
  const reply = await createReply(bench, 'direct');
  const troubles: Trouble[] = [() => null, () => status(500), () => status(400), hanging, quoting];
  for (const trouble of troubles) {
    const platform = bench.platform();
    await withChannel(bench, { platform }, async (open) => {
      assert.ok(open.channel.typing, 'a channel with capabilities.typing must have typing()');
      isSent(await attempt(open, reply));
      platform.trouble = trouble;
      const error = await withShortTimeouts(() =>
        inTime(captureError(open.channel.typing?.(reply.reply_to))),
      );
      assert.ok(!leaks(error, open.secrets), 'the error of typing() must not show a secret of the settings');
      platform.trouble = () => null;
      isSent(await attempt(open, { ...reply, id: 'another reply' }));
    });
  }
}

const NETWORK_ERROR = new TypeError('fetch failed', {
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' }),
});

/** An answer with a body that does not end. */
function stalling({ signal }: StandInCall): Response {
  const body = new ReadableStream({
    start: (out) => {
      out.enqueue(new TextEncoder().encode('{"ok":'));
      whenGivenUp(signal, (reason) => out.error(reason));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'application/json' } });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const late = new assert.AssertionError({
    message: 'a call to a platform that does not answer must end within 60 s',
  });
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
