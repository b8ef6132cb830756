import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { REPLY, signatureOf } from './deliveries.ts';

/**
 * The bare limit of a webhook: it checks the signature over the bytes and answers. If its first argument is the path of
 * a database, it first stores the bytes there, synced to disk: all requests of a turn of the event loop in one commit.
 * If its second argument is the address of a platform, it then posts a reply.
 */
const [path, platform] = process.argv.slice(2);
const keep = path === undefined ? null : createInbox(path);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const answer = (status: number) => {
      response.writeHead(status, { 'Content-Length': 0 });
      response.end();
    };
    if (!isSigned(request, body)) return answer(401);
    if (keep === null) return answer(200);
    keep(body, () => {
      answer(200);
      if (platform !== undefined) void reply(platform, body);
    });
  });
});

function isSigned({ headers }: IncomingMessage, body: Buffer): boolean {
  const right = Buffer.from(signatureOf(String(headers['x-slack-request-timestamp']), body));
  const given = Buffer.from(String(headers['x-slack-signature']));
  return given.length === right.length && timingSafeEqual(given, right);
}

type Stored = () => void;

function createInbox(file: string): (body: Buffer, stored: Stored) => void {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE inbox (id INTEGER PRIMARY KEY, body BLOB)');
  const insert = db.prepare('INSERT INTO inbox (body) VALUES (?)');
  const insertAll = db.transaction((bodies: readonly Buffer[]) => {
    for (const body of bodies) insert.run(body);
  });
  let waiting: [Buffer, Stored][] = [];
  return (body, stored) => {
    if (waiting.push([body, stored]) > 1) return;
    setImmediate(() => {
      const all = waiting;
      waiting = [];
      insertAll(all.map(([bytes]) => bytes));
      for (const [, answer] of all) answer();
    });
  };
}

async function reply(url: string, body: Buffer): Promise<void> {
  const { event } = JSON.parse(body.toString()) as { event: { channel: string } };
  const response = await fetch(`${url}/chat.postMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer xoxb-benchmark' },
    body: JSON.stringify({ channel: event.channel, text: REPLY }),
  });
  const { ok } = (await response.json()) as { ok: boolean };
  if (!ok) throw new Error('the platform refused a reply');
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
