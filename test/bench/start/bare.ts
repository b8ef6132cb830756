import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';

/** The bare limit of a start: opens the database that its only argument names, and listens. */
const db = new Database(process.argv[2]);
db.prepare('SELECT 1 FROM docs LIMIT 1').get();
const server = createServer((_request, response) => response.end('{}'));
server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => server.close(() => db.close()));
