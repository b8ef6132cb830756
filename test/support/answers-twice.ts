import { createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { listenOnFreePort } from './free-ports.ts';

/**
 * Starts a server that answers the first request of each connection twice, as a confused gateway does, and later
 * requests slowly: then a client that reuses the connection takes the second answer for its own.
 * @param nameIn returns the name in a request, which is the body of its answer
 * @returns its address
 */
export async function answersTwice(
  nameIn: (request: string) => string | undefined,
  { again_ms = 5, status = '200 OK' } = {},
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay(true));
    let isFirst = true;
    const answer = (text: string, head = '200 OK') =>
      socket.write(`HTTP/1.1 ${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    socket
      .on('error', () => undefined)
      .on('data', async (request) => {
        const name = nameIn(request.toString()) ?? '';
        if (!isFirst) await setTimeout(60);
        answer(name, isFirst ? status : undefined);
        if (isFirst) void setTimeout(again_ms).then(() => answer('"one too many"'));
        isFirst = false;
      });
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${await listenOnFreePort(server)}`;
}
