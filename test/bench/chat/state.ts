import { join } from 'node:path';
import Database from 'better-sqlite3';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { jwtContext, sealRecord } from '../../../src/daemon/session/jwt-context.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { SESSION } from '../../../src/daemon/store/sessions/session-document.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { storedDocuments } from '../../support/stored-documents.ts';
import { openStoreAt } from '../store.ts';
import { claimsOf, ENCRYPTION_KEY, QUESTION, REPLY, sessionId, tokenOf, userId } from './people.ts';

const DAY_MS = 86_400_000;

export interface Seed {
  people: number;
  /** Expiry of the tokens, seconds since the epoch. */
  exp: number;
  /** Number of turns that each session has. */
  turns: number;
}

/** Stores a session for each person, with the person's token bound to it, as after their first message. */
export async function seedOurs(directory: string, { people, exp, turns }: Seed): Promise<void> {
  const store = openStoreAt(directory);
  const seal = createSeal(new Secret(ENCRYPTION_KEY));
  const now = Date.now();
  await Promise.all(
    Array.from({ length: people }, async (_, person) => {
      const [user_id, session_id, claims] = [userId(person), sessionId(person), claimsOf(person, exp)];
      const token = new Secret(tokenOf(person, exp));
      const user = { user_id: claims.sub, email: claims.email, roles: claims.roles, token };
      const owner = personKey(claims);
      const session = {
        session_id,
        former_id: null,
        user_id,
        platform: 'webchat',
        namespace: 'web',
        generated: false,
        owner,
        credential_owner: { user_id, person: owner },
        metadata: { jwt_context: jwtContext(user, exp * 1000, seal, sealRecord(session_id, user_id)) },
        turns: 0,
        created_at: now,
        last_active_at: now,
        expires_at: now + DAY_MS,
      };
      await saveSession(store, session);
      for (let turn = 0; turn < turns; turn++) {
        await keepTurn(store, session, { user_id, person: owner, text: QUESTION, reply: REPLY }, DAY_MS);
      }
    }),
  );
  await store.close();
}

/** How many of the people's messages are in the store after a round. */
export async function countOurs(directory: string): Promise<{ turns: number; traces: number }> {
  const path = join(directory, 'agentd.db');
  const sessions = await storedDocuments(path, SESSION);
  const db = new Database(path, { readonly: true });
  const traces = db.prepare<[], number>('SELECT sum(count) FROM records').pluck().get() ?? 0;
  db.close();
  return { turns: sessions.reduce((sum, { doc }) => sum + doc.session.turns, 0), traces };
}

/** Stores the same sessions for the bare limit, in the one table that it needs. */
export function seedBare(directory: string, { people, exp, turns }: Seed): void {
  const db = new Database(bareFile(directory));
  db.pragma('journal_mode = WAL');
  db.exec(
    'CREATE TABLE sessions (session_id TEXT PRIMARY KEY, conversation TEXT, last_active_at INTEGER, metadata TEXT)',
  );
  const insert = db.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?)');
  db.transaction(() => {
    for (let person = 0; person < people; person++) {
      const jwt_context = { has_jwt: true, user_id: `user-${person}`, token: tokenOf(person, exp) };
      const turn = { user_id: userId(person), message: QUESTION, response: REPLY, at: Date.now() };
      const conversation = JSON.stringify(Array.from({ length: turns }, () => turn));
      insert.run(sessionId(person), conversation, Date.now(), JSON.stringify({ jwt_context }));
    }
  })();
  db.close();
}

export function countBare(directory: string): { turns: number } {
  const db = new Database(bareFile(directory), { readonly: true });
  const turns =
    db.prepare<[], number>('SELECT sum(json_array_length(conversation)) FROM sessions').pluck().get() ?? 0;
  db.close();
  return { turns };
}

export const bareFile = (directory: string) => join(directory, 'bare.db');
