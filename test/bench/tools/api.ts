import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The API that the tools call. It answers every request with the same order. */
const ORDER = JSON.stringify({ id: '1004', item: 'Punched cards, 500', status: 'being packed', total: 42.5 });

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': ORDER.length });
    response.end(ORDER);
  });
});

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
