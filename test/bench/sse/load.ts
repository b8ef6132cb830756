import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../rounds.ts';

export type SseOrder =
  | { kind: 'memory'; port: number; pid: number; streams: number; readers: number; settle_ms: number }
  | { kind: 'fan-out'; port: number; streams: number; readers: number; measure_ms: number }
  | { kind: 'first'; port: number; streams: number; warm_up_ms: number; measure_ms: number };

export interface SseResult {
  /** KiB per stream, events per second, or ms to the first event (median). */
  value: number;
  p99: number;
  /** Number of readers that were connected and received something. */
  opened: number;
}

/** Number of concurrent requests while streams are being opened. */
const AT_ONCE = 100;

process.once('message', async (order: SseOrder) => {
  process.send?.(await measure(order));
  process.exit();
});

function measure(order: SseOrder): Promise<SseResult> {
  switch (order.kind) {
    case 'memory':
      return memory(order);
    case 'fan-out':
      return fanOut(order);
    case 'first':
      return first(order);
  }
}

/** Measures by how many KiB the memory of a server grows with each connection that reads a stream. */
async function memory({
  port,
  pid,
  streams,
  readers,
  settle_ms,
}: Extract<SseOrder, { kind: 'memory' }>): Promise<SseResult> {
  // Opens some streams first, because memory that is allocated only once, or kept for later use, does not belong to a
  // stream.
  for (const reader of await openAll(port, Math.ceil(streams / 10), readers)) reader.socket.destroy();
  const before = await settled(pid, settle_ms);
  const all = await openAll(port, streams, readers);
  const after = await settled(pid, settle_ms);
  return { value: (after - before) / all.length, p99: 0, opened: all.length };
}

/** @param settle_ms a time that is long enough to collect garbage and to finish delayed writes */
async function settled(pid: number, settle_ms: number): Promise<number> {
  await delay(settle_ms);
  process.kill(pid, 'SIGUSR2');
  await delay(settle_ms);
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error('the system does not report how much memory a process uses');
  return Number(kib);
}

/** Measures the events per second that reach readers, from the first word after the greeting to the last word. */
async function fanOut({
  port,
  streams,
  readers,
  measure_ms,
}: Extract<SseOrder, { kind: 'fan-out' }>): Promise<SseResult> {
  const text = `all ${streams} ${measure_ms}`;
  const ids = await inTurns(streams, () => start(port, text));
  // The last stream has only one reader, who connects last. The runs begin to speak only then, when all readers are
  // connected.
  const all: Reader[] = [];
  for (const [index, id] of ids.entries()) {
    if (index < ids.length - 1) all.push(...(await inTurns(readers, () => open(port, id))));
  }
  const last = ids.at(-1) ?? '';
  all.push(await open(port, last));
  const before = all.reduce((sum, { events }) => sum + events, 0);
  const began = performance.now();
  await Promise.all(all.map(({ socket }) => once(socket, 'close')));
  const took = performance.now() - began;
  const events = all.reduce((sum, reader) => sum + reader.events, 0) - before;
  return { value: (events / took) * 1000, p99: 0, opened: all.length };
}

/** Measures the time from the start of `streams` streams at once to the first event of each, ms, after a warm-up. */
async function first({
  port,
  streams,
  warm_up_ms,
  measure_ms,
}: Extract<SseOrder, { kind: 'first' }>): Promise<SseResult> {
  const warm = performance.now() + warm_up_ms;
  while (performance.now() < warm) await burst(port, streams);
  const took: number[] = [];
  const end = performance.now() + measure_ms;
  do took.push(...(await burst(port, streams)));
  while (performance.now() < end);
  const sorted = Float64Array.from(took).sort();
  return { value: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), opened: sorted.length };
}

async function burst(port: number, streams: number): Promise<number[]> {
  const sockets = await inTurns(streams, () => connected(port));
  const began = performance.now();
  const took = await Promise.all(
    sockets.map(async (socket) => {
      const id = await startOn(socket, 'at once');
      const reader = new Reader(socket);
      socket.write(opening(id));
      await reader.spoken;
      return performance.now() - began;
    }),
  );
  for (const socket of sockets) socket.destroy();
  return took;
}

async function openAll(port: number, streams: number, readers: number): Promise<Reader[]> {
  const all = await inTurns(streams, async () => {
    const id = await start(port, 'hold');
    const opened: Reader[] = [];
    for (let count = 0; count < readers; count++) opened.push(await open(port, id));
    return opened;
  });
  return all.flat();
}

/** A connection on which a stream is read. It counts the events. */
class Reader {
  readonly socket: Socket;
  /** Resolves when the first event has arrived. */
  readonly spoken: Promise<void>;
  events = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.spoken = promise;
    let endedInLineFeed = false;
    socket.on('data', (bytes: Buffer) => {
      if (endedInLineFeed && bytes[0] === 10) this.events++;
      for (let at = bytes.indexOf('\n\n'); at >= 0; at = bytes.indexOf('\n\n', at + 2)) this.events++;
      endedInLineFeed = bytes.at(-1) === 10;
      // The `retry` field is a frame, too, but not an event.
      if (bytes.includes('retry: ')) this.events--;
      if (this.events > 0) resolve();
    });
    socket.on('error', () => socket.destroy());
  }
}

async function open(port: number, stream_id: string): Promise<Reader> {
  const reader = new Reader(await connected(port));
  reader.socket.write(opening(stream_id));
  await reader.spoken;
  return reader;
}

const opening = (stream_id: string) =>
  `GET /sse/stream/${stream_id} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`;

async function start(port: number, message: string): Promise<string> {
  const socket = await connected(port);
  const id = await startOn(socket, message);
  socket.destroy();
  return id;
}

let users = 0;

async function startOn(socket: Socket, message: string): Promise<string> {
  const user = users++;
  const body = JSON.stringify({ user_id: `reader-${user}`, message });
  // Each reader has its own address, so that no limit is reached.
  const address = `10.${user >> 16}.${(user >> 8) & 255}.${user & 255}`;
  socket.write(
    `POST /sse/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let received = '';
  for (;;) {
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    received += bytes.toString('latin1');
    const id = /"stream_id":"([^"]+)"\}$/.exec(received)?.[1];
    if (id !== undefined) return id;
    if (!received.startsWith('HTTP/1.1 200')) throw new Error(`no stream: ${received}`);
  }
}

async function connected(port: number): Promise<Socket> {
  const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Repeats an action `count` times, with a limited number at once. */
async function inTurns<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let begun = 0;
  const worker = async () => {
    while (begun++ < count) made.push(await make());
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, worker));
  return made;
}
