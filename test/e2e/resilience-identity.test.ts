import { randomBytes } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SECRET, startAgentd } from '../support/daemon.ts';
import { FakeApi, type SeenRequest, signToken } from '../support/fake-api.ts';
import { inParallel } from '../support/pool.ts';
import { type SeededRandom, seededRandom } from '../support/random.ts';
import { type Answer, post } from '../support/webchat.ts';

/**
 * A message must never be served with the bearer token of another user. Every message asks for a different e-mail
 * address, so the requests to the API show for which message each token was sent. The API answers with data of the
 * person in the token, so each reply shows to whom its data belongs.
 */

const ROOT = resolve(import.meta.dirname, '../..');

interface User {
  sub: string;
  /** The id of the user's session that the daemon generated. */
  generated: string;
  /** The id of the user's session that the client chose. */
  chosen: string;
}

type Kind =
  | 'valid'
  | 'valid, session of the client’s choice'
  | 'valid, new session'
  | 'expired'
  | 'forged'
  | 'signed out'
  | 'absent'
  | 'absent, session of the client’s choice'
  | 'absent, new session'
  | 'token of another person'
  | 'session of another person'
  | 'session and user id of another person';

interface Message {
  number: number;
  kind: Kind;
  sender: User;
  other: User;
  token: string | null | undefined;
  session_id: string | null;
  user_id: string;
  answer: Answer;
}

const KINDS: readonly Kind[] = [
  'valid',
  'valid',
  'valid',
  'valid, session of the client’s choice',
  'valid, new session',
  'expired',
  'forged',
  'signed out',
  'absent',
  'absent',
  'absent, session of the client’s choice',
  'absent, new session',
  'token of another person',
  'session of another person',
  'session and user id of another person',
];

const addressOf = (number: number) => `message${number}x@look.example`;
const dataOf = (sub: string) => `dataof${sub}x`;

/** Describes all violations in words. There are none if each message was served with the token of its own sender. */
function violations(messages: readonly Message[], calls: readonly SeenRequest[]): string[] {
  const byAddress = Map.groupBy(calls, (call) => call.query.userEmail);
  return messages.flatMap((message) => {
    const label = `message ${message.number} of ${message.sender.sub} (${message.kind})`;
    const bearers = (byAddress.get(addressOf(message.number)) ?? []).map(({ sub, bearer }) => ({
      sub,
      bearer,
    }));
    const found: string[] = [];
    for (const { sub, bearer } of bearers) {
      if (sub === 'service') {
        if (message.kind.startsWith('valid')) found.push(`${label} was sent with the default credentials`);
      } else if (sub !== message.sender.sub) found.push(`${label} was sent with the token of ${sub}`);
      else if (message.kind.startsWith('valid')) {
        if (bearer !== message.token) found.push(`${label} was sent with a different token of its sender`);
      } else if (message.kind !== 'absent') found.push(`${label} was sent with its sender's token`);
    }
    const refused = ['token of another person', 'session of another person'].includes(message.kind);
    const status = refused ? 403 : 200;
    if (message.answer.status !== status) found.push(`${label} was answered ${message.answer.status}`);
    if (bearers.length !== (refused ? 0 : 1)) found.push(`${label} made ${bearers.length} calls`);
    for (const [, sub] of JSON.stringify(message.answer.body).matchAll(/dataof(\w+?)x/g)) {
      if (sub !== message.sender.sub) found.push(`the reply to ${label} showed data of ${sub}`);
    }
    return found;
  });
}

async function drive(
  bin: string,
  random: SeededRandom,
  size: { users: number; messages: number },
): Promise<{ messages: Message[]; calls: SeenRequest[] }> {
  const api = await FakeApi.start({
    secret: SECRET,
    find: ({ sub, query }) => ({ email: query.userEmail, data: dataOf(sub ?? 'nobody') }),
  });
  onTestFinished(() => api.close());
  const agentd = await startAgentd({
    bin,
    env: {
      API_BASE_URL: api.url,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: 'service-password',
      TOKEN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      LOOP_GUARD_ENABLED: 'false',
    },
  });
  onTestFinished(async () => void (await agentd.stop()));

  const messages: Message[] = [];
  const send = async (kind: Kind, sender: User, other: User) => {
    const number = messages.length;
    const message: Message = {
      number,
      kind,
      sender,
      other,
      token: tokenFor(kind, number, sender, other),
      session_id: sessionFor(kind, sender, other),
      user_id: kind === 'session and user id of another person' ? other.sub : sender.sub,
      answer: { status: 0, headers: new Headers(), body: null },
    };
    messages.push(message);
    const { token, session_id, user_id } = message;
    message.answer = await post(agentd.url, {
      user_id,
      message: `Please look up ${addressOf(number)}`,
      ...(session_id === null ? {} : { session_id }),
      ...(token === undefined ? {} : { jwt_token: token }),
    });
    return message;
  };

  const users: User[] = Array.from({ length: size.users }, (_, index) => ({
    sub: `user${index}`,
    generated: '',
    chosen: `chosen-by-user${index}`,
  }));
  const stranger: User = { sub: 'nobody', generated: '', chosen: '' };
  await inParallel(users, 50, async (user) => {
    const opened = await send('valid, new session', user, stranger);
    user.generated = opened.answer.body.session_id;
    await send('valid, session of the client’s choice', user, stranger);
  });
  const rest = Array.from({ length: size.messages - messages.length }, () => {
    const sender = random.pick(users);
    return { kind: random.pick(KINDS), sender, other: random.pick(users.filter((user) => user !== sender)) };
  });
  await inParallel(rest, 50, ({ kind, sender, other }) => send(kind, sender, other));
  return { messages, calls: api.seen('/users') };
}

/**
 * Returns the token of a message: null if the message signs out, and undefined if it has no token. Every token is
 * different, so that the requests to the API show which message each token came from.
 */
function tokenFor(kind: Kind, number: number, sender: User, other: User): string | null | undefined {
  const now = Math.floor(Date.now() / 1000);
  const make = (user: User, life: number, secret = SECRET) =>
    signToken({ sub: user.sub, email: `${user.sub}@example.com`, exp: now + life, jti: number }, secret);
  switch (kind) {
    case 'valid':
    case 'valid, session of the client’s choice':
    case 'valid, new session':
    case 'session of another person':
      return make(sender, 3600);
    case 'expired':
      return make(sender, -60);
    case 'forged':
      return make(other, 3600, 'another secret than the one of the site');
    case 'token of another person':
      return make(other, 3600);
    case 'signed out':
      return null;
    default:
      return undefined;
  }
}

/** The session that a message names. Null requests a new session. */
function sessionFor(kind: Kind, sender: User, other: User): string | null {
  if (kind.endsWith('new session')) return null;
  if (kind === 'session of another person') return other.generated;
  if (kind === 'session and user id of another person') return other.chosen;
  return kind.endsWith('choice') ? sender.chosen : sender.generated;
}

it('the daemon serves each message with the token of its own sender or the default credentials, and shows nobody the data of another user', async () => {
  const random = seededRandom(20_250_101);
  const { messages, calls } = await drive(join(ROOT, 'bin/agentd.js'), random, {
    users: 100,
    messages: 1000,
  });

  expect(violations(messages, calls)).toEqual([]);
  expect(messages).toHaveLength(1000);
  expect(new Set(messages.map(({ kind }) => kind)).size, 'kinds of messages').toBe(new Set(KINDS).size);
  // The check would also pass if no reply had any data, so the test counts the replies that show their sender's data.
  const shown = messages.filter(({ answer, sender }) =>
    JSON.stringify(answer.body).includes(dataOf(sender.sub)),
  );
  expect(shown.length).toBeGreaterThan(350);
});

it('the same check finds the fault in a build in which a message can use the token of another message', async () => {
  const random = seededRandom(20_250_102);
  const bin = buildWithSharedBearer();
  const { messages, calls } = await drive(bin, random, { users: 40, messages: 300 });

  const found = violations(messages, calls);
  expect(found.filter((line) => line.includes('was sent with the token of'))).not.toEqual([]);
  expect(found.filter((line) => line.includes('showed data of'))).not.toEqual([]);
});

/** Copies the build, and makes all messages share one variable for their tokens. */
function buildWithSharedBearer(): string {
  const copy = mkdtempSync(join(tmpdir(), 'agentd-faulty-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const bundles = globSync('dist/src/bundled/*.js', { cwd: copy }).map((name) => join(copy, name));
  const path = bundles.find((file) =>
    readFileSync(file, 'utf8').includes('async function chooseCredentials('),
  );
  if (path === undefined) throw new Error('no bundle has chooseCredentials');
  const faulty = readFileSync(path, 'utf8')
    .replace('async function chooseCredentials(', 'let leakedBearer;\nasync function chooseCredentials(')
    .replace(
      'return { use: "user", token: new Secret(token),',
      'leakedBearer = token;\n  await new Promise(setImmediate);\n  return { use: "user", token: new Secret(leakedBearer),',
    );
  expect(faulty.match(/\bleakedBearer\b/g), 'the fault was inserted').toHaveLength(3);
  writeFileSync(path, faulty);
  return join(copy, 'bin/agentd.js');
}
