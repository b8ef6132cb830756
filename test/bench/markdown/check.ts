import MarkdownIt from 'markdown-it';
import { hostileMarkdown, listMarkdown, ordinaryMarkdown } from '../../support/hostile-markdown.ts';
import { renderMsgbot, renderPhonechat, renderTeamchat } from '../../support/rendered-replies.ts';

export interface MarkdownOrder {
  texts: 'bare' | 'ordinary' | 'lists' | 'bad';
  warm_up_ms: number;
  /** Characters of the longest texts. */
  size: number;
}

export interface MarkdownResult {
  title: string;
  /** The longest time for which rendering for any platform blocked the event loop, as processor time, ms. */
  hold_ms: number;
  ms_per_kb: number;
}

type Render = (text: string) => Promise<unknown>;

const PLATFORMS: readonly Render[] = [renderTeamchat, renderPhonechat, renderMsgbot];
/**
 * Each text is measured this many times. The shortest measurement counts, because disturbances only make it longer.
 */
const TIMES = 2;

/** Answers an order from the parent process with a result for each text. */
process.once('message', async ({ texts, warm_up_ms, size }: MarkdownOrder) => {
  const renders = texts === 'bare' ? [alone()] : PLATFORMS;
  const until = performance.now() + warm_up_ms;
  while (performance.now() < until) {
    for (const render of renders) await render(ordinaryMarkdown(4000));
    for (const render of renders) await render(listMarkdown(4000));
  }
  const results: MarkdownResult[] = [];
  for (const [title, text] of Object.entries(textsOf(texts, size))) {
    let hold_ms = 0;
    let ms_per_kb = 0;
    for (const render of renders) {
      const measured = await shortest(render, text);
      hold_ms = Math.max(hold_ms, measured.hold_ms);
      ms_per_kb = Math.max(ms_per_kb, (measured.total_ms / text.length) * 1000);
    }
    results.push({ title, hold_ms, ms_per_kb });
  }
  process.send?.(results);
  process.disconnect();
});

function textsOf(texts: MarkdownOrder['texts'], size: number): Readonly<Record<string, string>> {
  if (texts === 'bad') return hostileMarkdown(size);
  if (texts === 'bare') return { [`${size / 1000} KB`]: ordinaryMarkdown(size) };
  const made = texts === 'lists' ? listMarkdown : ordinaryMarkdown;
  const sizes = [1000, 4000, 16_000, size].filter((one) => one <= size);
  return Object.fromEntries(sizes.map((one) => [`${one / 1000} KB`, made(one)]));
}

/** The library alone, with its defaults. It reads a whole text in one tick of the event loop. */
function alone(): Render {
  const parser = new MarkdownIt({ html: false });
  return async (text) => parser.parse(text, {});
}

async function shortest(render: Render, text: string): Promise<{ hold_ms: number; total_ms: number }> {
  let shortest = { hold_ms: Number.POSITIVE_INFINITY, total_ms: 0 };
  for (let time = 0; time < TIMES; time++) {
    const measured = await measure(render, text);
    if (measured.hold_ms < shortest.hold_ms) shortest = measured;
  }
  return shortest;
}

/** Renders a text, and measures the processor time of each tick of the event loop meanwhile. */
async function measure(render: Render, text: string): Promise<{ hold_ms: number; total_ms: number }> {
  const began = threadMs();
  let last = began;
  let hold_ms = 0;
  let isDone = false;
  const look = () => {
    const now = threadMs();
    hold_ms = Math.max(hold_ms, now - last);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await render(text);
  isDone = true;
  look();
  return { hold_ms, total_ms: last - began };
}

/** Processor time of this thread, ms. It does not include other programs. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
