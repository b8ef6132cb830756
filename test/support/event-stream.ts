import { connect, type Socket } from 'node:net';

/** An event as a client sees it. */
export interface Seen {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of any shape
  data: any;
}

/**
 * The events in a stream. Blocks without an id, such as comments, are skipped. An incomplete block at the end is
 * ignored, as the standard requires.
 */
export function eventsIn(text: string): Seen[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const fields = new Map(
        block.split('\n').map((line) => {
          const colon = line.indexOf(': ');
          return [line.slice(0, colon), line.slice(colon + 2)] as const;
        }),
      );
      const [id, event, data] = ['id', 'event', 'data'].map((name) => fields.get(name));
      return id && event && data ? [{ id, event, data: JSON.parse(data) }] : [];
    });
}

export interface StreamAnswer {
  status: number;
  head: string;
  /** The text of the body, without the framing of chunks. */
  text: string;
  /** Whether the response is complete: false if the connection broke before its end. */
  whole: boolean;
}

export interface Reading {
  /** Resolves when the received text contains this. */
  holds(part: string): Promise<void>;
  text(): string;
  /** Resolves when the connection has ended. */
  ended: Promise<StreamAnswer>;
  socket: Socket;
}

export interface ReadOptions {
  headers?: Record<string, string>;
  /** The query, after the `?`. */
  query?: string;
  method?: string;
  /** Breaks the connection after this many bytes of the body. */
  cutAfter?: number;
}

/** Opens a stream over a raw socket, so that it can be cut anywhere. */
export function read(url: string, stream_id: string, options: ReadOptions = {}): Reading {
  const { hostname, port } = new URL(url);
  const { headers = {}, query, method = 'GET', cutAfter = Number.POSITIVE_INFINITY } = options;
  const lines = [
    `${method} /sse/stream/${stream_id}${query ? `?${query}` : ''} HTTP/1.1`,
    `Host: ${hostname}`,
    'Accept: text/event-stream',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const socket = connect(Number(port), hostname, () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
  let bytes = Buffer.alloc(0);
  const listeners = new Set<() => void>();
  const answer = () => parse(bytes, cutAfter);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (Number.isFinite(cutAfter) && Buffer.byteLength(answer().text) >= cutAfter) socket.destroy();
    for (const listener of listeners) listener();
  });
  socket.on('error', () => socket.destroy());
  const ended = new Promise<StreamAnswer>((resolve) => {
    socket.on('close', () => {
      resolve(answer());
      for (const listener of listeners) listener();
    });
  });
  return {
    socket,
    ended,
    text: () => answer().text,
    holds: (part) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (answer().text.includes(part)) resolve();
          else if (socket.destroyed) reject(new Error(`the stream ended without ${part}:\n${answer().text}`));
          else return;
          listeners.delete(check);
        };
        listeners.add(check);
        check();
      }),
  };
}

/** Reads a stream to its end. */
export async function readAll(
  url: string,
  stream_id: string,
  options: ReadOptions = {},
): Promise<StreamAnswer & { events: Seen[] }> {
  const answer = await read(url, stream_id, options).ended;
  return { ...answer, events: eventsIn(answer.text) };
}

function parse(bytes: Buffer, cutAfter: number): StreamAnswer {
  const split = bytes.indexOf('\r\n\r\n');
  if (split < 0) return { status: 0, head: '', text: '', whole: false };
  const head = bytes.subarray(0, split).toString('latin1');
  const rest = bytes.subarray(split + 4);
  const { body, whole } = /transfer-encoding: chunked/i.test(head)
    ? dechunk(rest)
    : { body: rest, whole: true };
  return {
    status: Number(head.slice(9, 12)),
    head,
    text: body.subarray(0, Math.min(body.length, cutAfter)).toString('utf8'),
    whole,
  };
}

function dechunk(bytes: Buffer): { body: Buffer; whole: boolean } {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return { body: Buffer.concat(pieces), whole: false };
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    if (size === 0) return { body: Buffer.concat(pieces), whole: true };
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (at > bytes.length) return { body: Buffer.concat(pieces), whole: false };
  }
}

/** Starts a stream. @returns its id */
export async function start(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await startRaw(url, body, headers);
  const answer = (await response.json()) as { stream_id?: string };
  if (response.status !== 200 || !answer.stream_id) throw new Error(`no stream: ${JSON.stringify(answer)}`);
  return answer.stream_id;
}

export function startRaw(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/sse/chat`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}
