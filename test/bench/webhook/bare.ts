import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureOf } from './deliveries.ts';

/** The bare limit of a webhook: it checks the signature over the bytes and answers. Nothing is stored. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const status = isSigned(request, Buffer.concat(chunks)) ? 200 : 401;
    response.writeHead(status, { 'Content-Length': 0 });
    response.end();
  });
});

function isSigned({ headers }: IncomingMessage, body: Buffer): boolean {
  const right = Buffer.from(signatureOf(String(headers['x-slack-request-timestamp']), body));
  const given = Buffer.from(String(headers['x-slack-signature']));
  return given.length === right.length && timingSafeEqual(given, right);
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
