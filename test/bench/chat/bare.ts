import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { REPLY, SECRET } from './people.ts';

/**
 * The bare limit of a chat: checks the bearer, loads a session row with its conversation, saves it with the new
 * messages, and answers. It makes one commit per request, which is not synced to disk. Its only argument is the path of
 * the database.
 */
const db = new Database(process.argv[2]);
db.pragma('synchronous = NORMAL');
const find = db.prepare<[string], { conversation: string; metadata: string }>(
  'SELECT conversation, metadata FROM sessions WHERE session_id = ?',
);
const save = db.prepare<[string, number, string, string]>(
  'UPDATE sessions SET conversation = ?, last_active_at = ?, metadata = ? WHERE session_id = ?',
);
const key = createSecretKey(SECRET, 'utf8');

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const status = isSignedIn(request) ? 200 : 401;
    const body = JSON.stringify(status === 200 ? answer(Buffer.concat(chunks)) : {});
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    response.end(body);
  });
});

function isSignedIn({ headers }: IncomingMessage): boolean {
  const [head, payload = '', signature = ''] = (headers.authorization ?? '').slice(7).split('.');
  const right = createHmac('sha256', key).update(`${head}.${payload}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== right.length || !timingSafeEqual(given, right)) return false;
  const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp: number };
  return exp * 1000 > Date.now();
}

function answer(bytes: Buffer): object {
  const asked = JSON.parse(bytes.toString()) as { user_id: string; session_id: string; message: string };
  const { user_id, session_id, message } = asked;
  const session = find.get(session_id);
  if (!session) throw new Error(`no session ${session_id}`);
  const metadata: unknown = JSON.parse(session.metadata);
  const conversation = JSON.parse(session.conversation) as object[];
  conversation.push({ user_id, message, response: REPLY, at: Date.now() });
  save.run(JSON.stringify(conversation), Date.now(), JSON.stringify(metadata), session_id);
  return { response: REPLY, session_id, metadata: { user_id } };
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close(() => db.close());
  server.closeAllConnections();
});
