import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  convert,
  type Dialect,
  inPieces,
  renderMarkdown,
  renderMarkdownInPieces,
} from '../../../src/channel/markdown.ts';
import { listMarkdown, ordinaryMarkdown } from '../../support/hostile-markdown.ts';

const PLAIN: Dialect = {
  limit: 4000,
  marksCount: true,
  escapes: {},
  lookalikes: {},
  strong: {},
  emphasis: {},
  delete: {},
  code: {},
  codeBlock: () => ({}),
  quote: {},
  link: () => null,
  bullets: ['-'],
  tables: 'lines',
};

function* pieces(name: string, count: number, done: string[]): Generator<void, string> {
  for (let piece = 0; piece < count; piece++) {
    done.push(`${name}${piece}`);
    yield;
  }
  return name;
}

/** The number of ticks of the event loop until the work is done. */
async function turnsUntil(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const end = work.finally(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns++) await setImmediate();
  await end;
  return turns;
}

/** Blocks for 10 ms, which is longer than conversions may work in one tick. */
function busy(): void {
  const until = performance.now() + 10;
  while (performance.now() < until);
}

it('inPieces runs one long piece per tick, and alternates between the tasks in progress', async () => {
  const done: string[] = [];
  function* long(name: string, count: number): Generator<void, string> {
    for (const _ of pieces(name, count, done)) {
      busy();
      yield;
    }
    return name;
  }
  const both = Promise.all([inPieces(long('a', 3)), inPieces(long('b', 2))]);
  const seen: number[] = [];
  while (done.length < 5) {
    await setImmediate();
    seen.push(done.length);
  }
  for (const [turn, count] of seen.entries()) expect(count - (seen[turn - 1] ?? 0)).toBeLessThanOrEqual(1);
  expect(done).toEqual(['a0', 'b0', 'a1', 'b1', 'a2']);
  expect(await both).toEqual(['a', 'b']);
});

it('inPieces runs many short pieces per tick, so that simultaneous replies need fewer ticks', async () => {
  const done: string[] = [];
  const all = Promise.all(Array.from({ length: 100 }, (_, reply) => inPieces(pieces(`${reply}:`, 5, done))));
  expect(await turnsUntil(all)).toBeLessThan(50);
  expect(done).toHaveLength(500);
});

it('inPieces starts no work before it returns', async () => {
  const done: string[] = [];
  const work = inPieces(pieces('a', 1, done));
  expect(done).toEqual([]);
  await work;
});

it('inPieces rejects with the error of a piece, and continues with the other work', async () => {
  const done: string[] = [];
  function* failing(): Generator<void, string> {
    yield;
    throw new RangeError('no room');
  }
  const [failed, other] = await Promise.allSettled([inPieces(failing()), inPieces(pieces('a', 3, done))]);
  expect(failed).toMatchObject({ status: 'rejected', reason: new RangeError('no room') });
  expect(other).toEqual({ status: 'fulfilled', value: 'a' });
});

it.each([
  ['an ordinary text', ordinaryMarkdown(100_000)],
  ['a list', listMarkdown(100_000)],
  ['one line', 'word '.repeat(20_000)],
])(
  '%s of 100,000 characters is rendered in many pieces, with the same result as in one piece',
  async (_title, text) => {
    const work = renderMarkdownInPieces(text, PLAIN);
    expect(await turnsUntil(work)).toBeGreaterThan(1);
    const messages = await work;
    expect(messages).toEqual(renderMarkdown(text, PLAIN));
    // Each part of 16,000 characters takes three steps (read, build, lay out), and each message takes one (write).
    const steps = [...convert(text, PLAIN)];
    expect(steps.length).toBeGreaterThan(3 * (100_000 / 16_000) + messages.length);
  },
);

it('a short text is rendered in a few steps', () => {
  const steps = [...convert('**a**', PLAIN)];
  expect(steps.length).toBeLessThan(6);
});
