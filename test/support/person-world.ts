import { type PersonKey, personKey } from '../../src/daemon/identity/identity.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { type Session, type StoredTurn, sessionTag } from '../../src/daemon/session/session.ts';
import type { Rater } from '../../src/daemon/store/feedback.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import {
  anAction,
  anInboxMessage,
  aPendingAction,
  aRecording,
  aSession,
  aStream,
  aTrace,
  aTurn,
  aWaitingQuestion,
  GUARD_LIMITS,
} from '../contract/fixtures.ts';
import { commitUnderClaim, keepTurn, saveSession } from '../contract/store-writes.ts';

const HOUR = 60 * 60 * 1000;
export const PLATFORM = 'teamchat';
/** The shared thread. The first resident who writes in it opens it. */
export const THREAD = 'teamchat:C1:100.1';

/** Somebody with records of every kind: as a signed-in person on the web, as a user of a platform, or as both. */
export interface Resident {
  name: string;
  person: PersonKey;
  user_id: string;
  /** A word that the ids and the texts of their records contain. */
  canary: string;
}

export function aResident(name: string): Resident {
  const canary = `CANARY${name.toUpperCase()}`;
  return { name, person: personKey({ sub: canary }), user_id: `U${canary}`, canary };
}

/** Stores data of the person in each kind of record. */
export async function fillAsPerson(store: Store, now: number, { person, canary }: Resident): Promise<void> {
  const tied = { owner: person, credential_owner: { user_id: `web${canary}`, person } };
  const jwt_context = {
    has_jwt: true as const,
    user_id: canary,
    email: `${canary}@example.com`,
    token: `token-${canary}`,
    token_exp: '2031-01-01T00:00:00Z',
  };
  const session = aSession(now, {
    session_id: `s-${canary}`,
    former_id: `f-${canary}`,
    user_id: `web${canary}`,
    platform: 'webchat',
    metadata: { jwt_context },
    ...tied,
  });
  await saveSession(store, session);
  // One turn is from before sign-in.
  await keepTurn(store, session, { user_id: `web${canary}`, text: `${canary} before` });
  const trace = aTrace(session, { platform: 'webchat', user_id: `web${canary}` });
  const key = JSON.stringify(['web', ['person', person], `k-${canary}`]);
  const claim = await store.idempotency.claim(key, 'body');
  if (claim.outcome !== 'new') throw new Error('the key is known');
  const answer = { session_id: session.session_id, response: `${canary} answered` };
  const record = aTurn({
    ...{ user_id: `web${canary}`, person, text: `${canary} asks`, reply: `${canary} told` },
    finished_at: now,
    ...callsOf(canary),
  });
  await commitUnderClaim(store, sessionTag(session), {
    turn: { record, ttl_ms: HOUR },
    trace,
    answer: { claim: claim.claim, answer, ttl_ms: HOUR },
    pending: [aPendingAction(session, { person, principal: person, summary: `${canary} pending` })],
  });
  await rateAs(store, { kind: 'client', person, namespaces: ['web'] }, session, record, canary);
  await keepSummary(store, session, person, canary);
  await store.actions.start(null, anAction({ person, session_tag: null, args: `{"a":"${canary}"}` }));
  const stream = aStream({
    ...{ stream_id: `st-${canary}`, idempotency_key: `sk-${canary}` },
    ...{ owner: person, token: `token-${canary}` },
  });
  stream.start.message.text = `${canary} streams`;
  await store.streams.create(stream);
  const running = await store.streams.claim(stream.stream_id, { owner: person, reader: person });
  if (!running) throw new Error('the stream is already running');
  const data = JSON.stringify({ text: `${canary} streamed` });
  await store.streams.append(running, [{ id: 1, event: 'stream_complete', data }]);
  const user = guardUser({ platform: 'webchat', user_id: `web${canary}`, person, address: null });
  const message = { user, session_id: sessionTag(session), text: 'hash', message_id: null, sent_at: null };
  await store.guard.check(message, GUARD_LIMITS);
  await store.limits.hit(`http:person:${person}`, { max: 5, window_ms: HOUR });
  // The same client, before it signed in.
  const address = `address-${canary}`;
  const nobody = guardUser({ platform: 'webchat', user_id: `web${canary}`, person: null, address });
  await store.guard.check({ ...message, user: nobody }, GUARD_LIMITS);
  await store.limits.hit(`http:address:${address}`, { max: 5, window_ms: HOUR });
  await store.budgets.reserve(person, { id: canary, tokens: 5, max: 100, ttl_ms: HOUR });
  const code = { code_id: `code-${canary}`, code_hash: `hash-${canary}`, person, ttl_ms: HOUR };
  await store.linkCodes.create({ ...code, token: `token-${canary}` });
  await store.recordings.keep(
    aRecording({ session_id: session.session_id, persons: [person], content: `${canary} recorded` }),
  );
  await store.memories?.add(
    { key: person, alias: null },
    { text: `remember${canary}`, turn_id: 't', tainted: false },
  );
}

/** Stores data of the user of the platform in each kind of record, with a turn in the shared thread. */
export async function fillAsUser(store: Store, now: number, resident: Resident): Promise<void> {
  const { name, person, user_id, canary } = resident;
  const session = aSession(now, { session_id: `dm:${user_id}`, user_id, platform: PLATFORM });
  await saveSession(store, session);
  const alone = aTurn({ user_id, text: `${canary} alone`, finished_at: now });
  await keepTurn(store, session, alone);
  await rateAs(store, { kind: 'user', platform: PLATFORM, user_id }, session, alone, canary);
  await keepSummary(store, session, `${PLATFORM}:${user_id}`, canary);
  await speakInThread(store, now, resident, null);
  const trace = aTrace(null, { platform: PLATFORM, user_id });
  await store.traces.keepRefused(trace);
  await store.inbox.enqueue([
    messageOf(resident, `${canary} waits`),
    anInboxMessage({
      platform: PLATFORM,
      session_id: null,
      message: null,
      reply: `${canary} is told`,
      reply_to: { to: user_id },
    }),
    // A hint for a message that the agent never got. Only its user ties it to the person.
    anInboxMessage({
      ...{ platform: PLATFORM, session_id: null, message: null, message_id: `hint-${canary}`, user_id },
      ...{ reply: `${canary} hint`, reply_to: { channel: `D-${canary}` } },
    }),
  ]);
  await store.actions.start(null, anAction({ platform: PLATFORM, user_id, summary: `${canary} did` }));
  await store.links.put({
    key: `${PLATFORM}:jwt:${user_id}`,
    token: `token-${canary}`,
    person,
    ttl_ms: HOUR,
    isTold: true,
  });
  await store.linkRenewals.meet(`${PLATFORM}:jwt:${user_id}`, `token-${canary}`, {
    issued_at: now,
    expires_at: now + HOUR,
  });
  await store.links.bindAlias(`${PLATFORM}:jwt:${user_id}`, `token-${canary}`, {
    alias: `${PLATFORM}:alias-${canary}`,
    person,
  });
  await commitUnderClaim(store, sessionTag(session), {
    trace,
    waits: aWaitingQuestion(session, { user_id, text: `${canary} wants to know` }),
  });
  const linked = `link:${JSON.stringify([PLATFORM, user_id, `m-${canary}`])}`;
  const claim = await store.idempotency.claim(linked, '');
  if (claim.outcome !== 'new') throw new Error('the key is known');
  await store.idempotency.finish(claim.claim, { session_id: '', response: `"${canary}"` }, HOUR);
  const user = guardUser({ platform: PLATFORM, user_id, person: null, address: null });
  const message = { user, session_id: sessionTag(session), text: 'hash', message_id: null, sent_at: null };
  await store.guard.check(message, GUARD_LIMITS);
  await store.budgets.reserve(`${PLATFORM}:${user_id}`, { id: canary, tokens: 5, max: 100, ttl_ms: HOUR });
  const sender = {
    ...{ platform: PLATFORM, user_id, alias_id: null, name: canary, locale: null, reply_to: {} },
    message_id: `code-${canary}`,
  };
  await store.linkCodes.claim('no code', sender);
  // The code of somebody else, whose own data stays.
  const elses = { code_id: `by ${name}`, code_hash: `of ${name}`, ttl_ms: HOUR, token: 'x' };
  await store.linkCodes.create({ ...elses, person: personKey({ sub: `not ${name}` }) });
  await store.linkCodes.claim(elses.code_hash, sender);
  await store.recordings.keep(
    aRecording({
      platform: PLATFORM,
      message_id: `m-${canary}`,
      users: [user_id],
      content: `${canary} recorded`,
    }),
  );
  await store.memories?.add(
    { key: `${PLATFORM}:${user_id}`, alias: `alias-${canary}` },
    { text: `remember${canary}`, turn_id: 't', tainted: false },
  );
}

/** Stores a turn in the shared thread. The first turn opens the thread. */
export async function speakInThread(
  store: Store,
  now: number,
  { user_id, canary }: Resident,
  person: PersonKey | null,
): Promise<void> {
  const found = await store.sessions.find(THREAD);
  const thread = found ?? aSession(now, { session_id: THREAD, user_id, platform: PLATFORM });
  if (!found) await saveSession(store, thread);
  await keepTurn(store, thread, {
    turn_id: `turn-${canary}-${person === null ? 'nobody' : 'person'}`,
    user_id,
    person,
    text: `${canary} in the thread`,
    ...callsOf(canary),
    message_id: `m-${canary}-${person === null ? 1 : 2}`,
  });
}

async function rateAs(
  store: Store,
  rater: Rater,
  { session_id }: Session,
  { turn_id }: StoredTurn,
  comment: string,
): Promise<void> {
  const rated = await store.feedback.rate({ session_id, turn_id, rating: 1, comment }, rater);
  if (rated === null) throw new Error('the turn was not rated');
}

/** The sealed parts of a turn. They are not sealed here, so that a search for the canary finds them. */
function callsOf(canary: string): { calls: string; calls_bytes: number; state: string } {
  const calls = JSON.stringify([
    { tool: 'look', args: {}, answer: { ok: true, result: `${canary} was found` } },
  ]);
  return { calls, calls_bytes: calls.length, state: JSON.stringify(`${canary} chose`) };
}

function messageOf({ user_id, canary }: Resident, text: string) {
  const message = anInboxMessage({ platform: PLATFORM, message_id: `m-${canary}`, user_id, text });
  const metadata = { user_name: canary };
  return {
    ...message,
    message: { ...message.message, platform: PLATFORM, user_id, text, metadata },
  } as typeof message;
}

async function keepSummary(store: Store, session: Session, principal: string, canary: string): Promise<void> {
  const token = await store.summaries.begin(sessionTag(session), HOUR);
  if (token === null) throw new Error('a summary is already being made');
  const summary = { principal, text: `${canary} in short`, tainted: false, through_turn: 't', through_at: 1 };
  await store.summaries.keep(sessionTag(session), token, summary);
}
