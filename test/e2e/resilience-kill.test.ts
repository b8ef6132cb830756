import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type Agentd, SECRET, startAgentd } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { FakeApi, signToken } from '../support/fake-api.ts';
import { inParallel } from '../support/pool.ts';
import { seededRandom } from '../support/random.ts';
import { showSession } from '../support/session-view.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Answer, post } from '../support/webchat.ts';

const ROUNDS = effort(1, 20);

/** A client that sends messages in sequence, each with its own key, and records which of them were answered. */
interface Client {
  user: string;
  session_id: string;
  /** Texts of its messages that were answered with 200, in order. */
  answered: string[];
  /** The message that got no answer. It is unknown whether it ran. */
  interrupted: { text: string; key: string } | null;
  sent: number;
}

const tokenOf = (user: string) =>
  signToken(
    { sub: user, email: `${user}@example.com`, exp: Math.floor(Date.now() / 1000) + 3600, jti: randomUUID() },
    SECRET,
  );

function say(daemon: Agentd, client: Client, text: string, key: string): Promise<Answer> {
  const body = { user_id: client.user, session_id: client.session_id, message: text };
  return post(daemon.url, body, { headers: { 'Idempotency-Key': key } });
}

/** Sends messages until the daemon is killed. The message that got no answer stays in `interrupted`. */
async function converse(daemon: Agentd, client: Client, onAnswer: () => void): Promise<void> {
  for (;;) {
    const number = client.sent++;
    const text = `Please look up ${client.user}-${number}@look.example`;
    const key = randomUUID();
    client.interrupted = { text, key };
    let answer: Answer;
    try {
      answer = await say(daemon, client, text, key);
    } catch {
      // The daemon was killed. The outcome of the message is checked after the restart.
      return;
    }
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    client.answered.push(text);
    client.interrupted = null;
    onAnswer();
  }
}

it(`after each of ${ROUNDS} kill -9 under load, the daemon has every answered turn in order, its database is intact, and all sessions work`, async () => {
  const random = seededRandom(20_250_104);
  const directory = temporaryFolder('kill');
  const api = await FakeApi.start({
    secret: SECRET,
    find: ({ sub, query }) => ({ email: query.userEmail, seen_by: sub }),
  });
  const env = {
    ...api.env,
    TOKEN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    LOOP_GUARD_ENABLED: 'false',
  };
  const start = () => startAgentd({ directory, env });

  let daemon = await start();
  const clients = await inParallel([0, 1, 2, 3, 4, 5], 6, async (index): Promise<Client> => {
    const user = `user${index}`;
    const text = 'hello';
    const opened = await post(daemon.url, { user_id: user, message: text, jwt_token: tokenOf(user) });
    expect(opened.status).toBe(200);
    return { user, session_id: opened.body.session_id, answered: [text], interrupted: null, sent: 0 };
  });

  for (let round = 1; round <= ROUNDS; round++) {
    // The daemon is killed at a random answer. Other messages are then before, during or after their commit.
    let left = 1 + random.below(60);
    await Promise.all(
      clients.map((client) =>
        converse(daemon, client, () => {
          if (--left === 0) daemon.signal('SIGKILL');
        }),
      ),
    );
    expect(await daemon.exited, 'killed, so there is no exit code').toBeNull();

    daemon = await start();
    const label = `round ${round}`;
    const db = new Database(join(directory, 'state/agentd.db'), { readonly: true });
    expect(db.pragma('integrity_check', { simple: true }), label).toBe('ok');
    expect(db.pragma('foreign_key_check'), label).toEqual([]);
    db.close();
    for (const client of clients) await repeatInterrupted(daemon, client, label);
    await inParallel(clients, 2, async (client) => {
      const { turns, state } = await showSession({ directory }, client.session_id, env);
      expect(state, label).toBe('ValidJWT');
      expect(
        turns.map(({ text, outcome }) => [text, outcome]),
        label,
      ).toEqual(client.answered.map((text) => [text, 'answered']));
    });
    // The sealed context can be opened: a message without a token acts for the person who signed in.
    const { user } = random.pick(clients);
    const calls = api.seen('/users').filter(({ query }) => query.userEmail?.startsWith(`${user}-`));
    expect(calls.at(-1)?.sub, label).toBe(user);
    const wrong = daemon.log().filter(({ level }) => level === 'error' || level === 'fatal');
    expect(wrong, label).toEqual([]);
  }
});

/**
 * Sends the interrupted message again. If its first answer was stored before the kill, the client gets that answer.
 * Otherwise the message runs again. Either way, the session has the message once.
 */
async function repeatInterrupted(daemon: Agentd, client: Client, label: string): Promise<void> {
  if (client.interrupted === null) return;
  const { text, key } = client.interrupted;
  const answer = await say(daemon, client, text, key);
  expect(answer.status, `${label}: ${JSON.stringify(answer.body)}`).toBe(200);
  client.answered.push(text);
  client.interrupted = null;
}
