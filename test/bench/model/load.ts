import { percentile } from '../rounds.ts';

export interface ModelOrder {
  port: number;
  /** Number of runs at once. */
  runs: number;
  warm_up_ms: number;
  measure_ms: number;
}

export interface ModelResult {
  /** Median time from the model's first token to the reader's first event with text, ms. */
  p50_ms: number;
  p99_ms: number;
  /** Number of runs that were read to their end. */
  answered: number;
}

process.once('message', async (order: ModelOrder) => {
  process.send?.(await measure(order));
  process.exit();
});

/** Keeps this many readers busy: each starts a new run as soon as its previous run has ended. */
async function measure({ port, runs, warm_up_ms, measure_ms }: ModelOrder): Promise<ModelResult> {
  const warm = performance.now() + warm_up_ms;
  const end = warm + measure_ms;
  const took: number[] = [];
  let answered = 0;
  const reader = async (_: unknown, number: number) => {
    do {
      const began = performance.now();
      const ms = await readOne(`http://127.0.0.1:${port}`, number);
      answered++;
      if (began >= warm) took.push(ms);
    } while (performance.now() < end || took.length === 0);
  };
  await Promise.all(Array.from({ length: runs }, reader));
  const sorted = Float64Array.from(took).sort();
  return { p50_ms: percentile(sorted, 0.5), p99_ms: percentile(sorted, 0.99), answered };
}

/** @returns the time from the timestamp in the model's first word to the arrival of this word, ms */
async function readOne(server: string, number: number): Promise<number> {
  const started = await fetch(`${server}/sse/chat`, {
    method: 'POST',
    // Each reader has its own address, so that no limit is reached.
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': `10.0.${number >> 8}.${number & 255}` },
    body: JSON.stringify({ user_id: `reader-${number}`, message: 'Say something.' }),
  });
  const { stream_id } = (await started.json()) as { stream_id: string };
  const stream = await fetch(`${server}/sse/stream/${stream_id}`);
  let received = '';
  let ms: number | null = null;
  for await (const bytes of stream.body ?? []) {
    if (ms !== null) continue;
    received += Buffer.from(bytes).toString();
    const at = /"text":"at=(\d+) /.exec(received)?.[1];
    if (at !== undefined) ms = Number(process.hrtime.bigint() / 1000n - BigInt(at)) / 1000;
  }
  if (ms === null) throw new Error(`the model's first word did not arrive: ${received.slice(0, 500)}`);
  return ms;
}
