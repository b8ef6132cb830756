import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The bare limit of event streams: a POST names a stream, a GET opens it, and each word is written to all of its
 * readers with `res.write`. Nothing is stored, checked or bounded. It understands the same messages as agent.ts.
 */
interface Stream {
  text: string;
  readers: ServerResponse[];
  events: number;
  /** Begins with the first reader. */
  run: AsyncGenerator<string> | null;
}

/** The least that a run of an agent is: a generator that has said a word, and waits for something. */
function beginRun(): AsyncGenerator<string> {
  const run = speakAndWait();
  void run.next();
  void run.next();
  return run;
}

async function* speakAndWait(): AsyncGenerator<string> {
  yield 'Hello. ';
  await new Promise(() => undefined);
}

const streams = new Map<string, Stream>();
let opened = 0;

process.on('SIGUSR2', () => globalThis.gc?.());

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { message } = JSON.parse(Buffer.concat(chunks).toString()) as { message: string };
      const stream_id = `sse_${streams.size}`;
      streams.set(stream_id, { text: message, readers: [], events: 0, run: null });
      const body = JSON.stringify({ stream_id });
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      response.end(body);
    });
    return;
  }
  const stream = streams.get(request.url?.split('/').at(-1) ?? '');
  if (!stream) throw new Error(`no stream ${request.url}`);
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  response.write('id: 1\nevent: stream_start\ndata: {}\n\n');
  response.write('id: 2\nevent: text_chunk\ndata: {"text":"Hello. "}\n\n');
  stream.events = 2;
  stream.readers.push(response);
  stream.run ??= beginRun();
  request.on('close', () => {
    stream.readers = stream.readers.filter((reader) => reader !== response);
  });
  const [, count, ms] = /^all (\d+) (\d+)$/.exec(stream.text) ?? [];
  if (count !== undefined && stream.readers.length === 1 && ++opened === Number(count)) speak(Number(ms));
});

function speak(ms: number): void {
  opened = 0;
  const end = performance.now() + ms;
  const say = () => {
    for (const stream of streams.values()) {
      const frame = `id: ${++stream.events}\nevent: text_chunk\ndata: {"text":"word "}\n\n`;
      for (const reader of stream.readers) if (!reader.writableNeedDrain) reader.write(frame);
    }
    if (performance.now() < end) setImmediate(say);
    else for (const { readers } of streams.values()) for (const reader of readers) reader.end();
  };
  setImmediate(say);
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
