import assert from 'node:assert/strict';
import type { Bench } from '../../../src/channel/conformance/bench.ts';
import { withChannel } from '../../../src/channel/conformance/open-channel.ts';
import {
  type ConformanceCase,
  type ConformanceOptions,
  type SampleRequest,
  type Trial,
  toCases,
} from '../../../src/channel/conformance/options.ts';
import { isFailure, PASSING, sending, status } from '../../../src/channel/conformance/send-reply.ts';
import { failing } from '../../../src/channel/conformance/sending-cases.ts';
import { listEvents } from '../../../src/channel/conformance/shape-and-signature-cases.ts';
import { TEXT_MAX } from '../../../src/channel/index.ts';
import { hostileBodies } from './hostile-bodies.ts';

/** The maximum number of bytes that a channel may read from an answer. */
const READ_MAX = 16 * 1024 * 1024;
const CHUNK = new Uint8Array(65_536).fill(0x20);

/**
 * Cases beyond the published suite: input that no platform sends, and answers that no platform gives. The bundled
 * channels and the template must pass them.
 */
export function hostileCases(options: ConformanceOptions): ConformanceCase[] {
  const { plugin, send, messages = [] } = options;
  const isPush = plugin.delivery === 'push';
  const isSimulated = plugin.simulator !== undefined;
  const requests = messages.filter(({ expect }) => expect.length > 0).map(({ request }) => request);
  return toCases(options, [
    ...(isSimulated ? simulatedCases() : []),
    ...(isPush && (isSimulated || send) ? answerCases() : []),
    ...(!isPush && requests.length > 0
      ? [
          [
            'does not answer a hostile body with an internal error',
            (bench) => acceptsBodies(bench, requests),
          ] as [string, Trial],
        ]
      : []),
  ]);
}

function simulatedCases(): [string, Trial][] {
  return [
    ['does not answer a hostile signed body with an internal error', acceptsSignedBodies],
    ['does not answer a hostile text with an internal error', acceptsTexts],
  ];
}

function answerCases(): [string, Trial][] {
  const retryAfter = { final: false, retry_after_seconds: 7 };
  return [
    failing(
      'passes on the Retry-After header of a failing platform',
      () => status(503, { 'Retry-After': '7' }),
      retryAfter,
    ),
    ['does not report a failure as final because of a malformed answer', retriesAfterNonsense],
    ['reads at most 16 MiB of an answer', readsWithinBounds],
  ];
}

async function acceptsSignedBodies(bench: Bench): Promise<void> {
  const { simulator, settings } = bench;
  if (!simulator) throw new Error(`the channel ${bench.plugin.name} has no simulator`);
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of listEvents(bench)) {
      // Only messages differ between groups and private chats.
      if (event.place === 'group' && event.kind !== 'message') continue;
      const right = simulator.delivery(bench.event(event), settings);
      for (const { title, body } of hostileBodies(right.body)) {
        const request = { ...right, body };
        const { status } = await open.deliver(simulator.sign?.(request, settings) ?? request);
        assert.ok(status < 500, `${title} was answered ${status}`);
        open.inspect();
        open.forget();
      }
    }
  });
}

const ODD_TEXTS: readonly string[] = [
  'x'.repeat(TEXT_MAX + 1),
  '😀'.repeat(TEXT_MAX + 1),
  'x'.repeat(10 * TEXT_MAX),
  '',
  ' \n ',
  'a\u0000b',
  'a\ud800b',
  '\u200b',
  '/',
  '<@'.repeat(1000),
];

async function acceptsTexts(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    for (const kind of ['message', 'edit', 'command'] as const) {
      for (const place of bench.places) {
        for (const [index, text] of ODD_TEXTS.entries()) {
          const { status } = await open.deliver(bench.delivery({ kind, place, text, number: index + 1 }));
          const what = JSON.stringify(text.slice(0, 12));
          assert.ok(status < 500, `a ${kind} that begins with ${what} was answered ${status}`);
          open.inspect();
          open.forget();
        }
      }
    }
  });
}

async function retriesAfterNonsense(bench: Bench): Promise<void> {
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

async function readsWithinBounds(bench: Bench): Promise<void> {
  for (const code of [200, 500]) {
    await sending(bench, async ({ send, platform }) => {
      let read = 0;
      platform.trouble = () =>
        new Response(
          new ReadableStream({
            pull(out) {
              read += CHUNK.length;
              // Without this, a channel that has no limit would read forever.
              if (read > READ_MAX) out.close();
              else out.enqueue(CHUNK);
            },
          }),
          { status: code, headers: { 'Content-Type': 'application/json' } },
        );
      const error = await send();
      if (error !== null) isFailure(error, PASSING);
      assert.ok(read <= READ_MAX, `more than ${READ_MAX} bytes of an answer were read`);
    });
  }
}

async function acceptsBodies(bench: Bench, requests: readonly SampleRequest[]): Promise<void> {
  await withChannel(bench, {}, async (open) => {
    for (const request of requests) {
      for (const { title, body } of hostileBodies(String(request.body))) {
        const { status } = await open.deliver({ ...request, body });
        assert.ok(status < 500, `${title} was answered ${status}`);
        open.inspect();
        open.forget();
      }
    }
  });
}
