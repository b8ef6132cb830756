import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { percentile } from './rounds.ts';

export interface LoadOrder {
  port: number;
  connections: number;
  warm_up_ms: number;
  measure_ms: number;
}

export interface LoadResult {
  /** Answers per second, without the warm-up. */
  rate: number;
  p50_ms: number;
  p99_ms: number;
  /** Answers with status 200, warm-up included. */
  acknowledged: number;
  /** Answers with another status. */
  refused: number;
}

/**
 * Keeps every connection busy with one request at a time, on raw sockets, so that the load costs less than the server
 * that it measures. It begins when all connections are open, and ends when the last request is answered.
 * @param next returns the next complete request
 */
export async function drive(order: LoadOrder, next: () => string): Promise<LoadResult> {
  const sockets = await Promise.all(
    Array.from({ length: order.connections }, async () => {
      const socket = createConnection({ host: '127.0.0.1', port: order.port, noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );
  const warm = performance.now() + order.warm_up_ms;
  const end = warm + order.measure_ms;
  const took: number[] = [];
  const result = { acknowledged: 0, refused: 0 };
  await Promise.all(
    sockets.map((socket) =>
      keepBusy(socket, next, (status, sent) => {
        const now = performance.now();
        if (status === 200) result.acknowledged++;
        else result.refused++;
        if (sent >= warm && now <= end) took.push(now - sent);
        return now < end;
      }),
    ),
  );
  const sorted = Float64Array.from(took).sort();
  return {
    ...result,
    rate: took.length / (order.measure_ms / 1000),
    p50_ms: percentile(sorted, 0.5),
    p99_ms: percentile(sorted, 0.99),
  };
}

/**
 * @param answered called with the status of each answer and the time when its request was sent; returns whether to
 * continue
 */
function keepBusy(
  socket: Socket,
  next: () => string,
  answered: (status: number, sent: number) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = '';
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(next(), 'latin1');
    };
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      const length = answerLength(received);
      if (length === null || received.length < length) return;
      if (received.length > length) reject(new Error('the server sent more than was requested'));
      const status = Number(received.slice(9, 12));
      received = '';
      if (answered(status, sent)) return send();
      socket.end();
      resolve();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection that was in use')));
    send();
  });
}

const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;
/** The last chunk. If the body is empty, it follows the head directly. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Length of head and body together; null while it is unknown. */
function answerLength(received: string): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = LENGTH.exec(received)?.[1];
  if (length === undefined && CHUNKED.test(received)) {
    const last = received.indexOf(LAST_CHUNK, end + 2);
    return last < 0 ? null : last + LAST_CHUNK.length;
  }
  if (length === undefined) throw new Error(`an answer without Content-Length: ${received.slice(0, end)}`);
  return end + 4 + Number(length);
}
