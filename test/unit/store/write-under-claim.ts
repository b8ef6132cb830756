import { type Session, type StoredTurn, tagOf } from '../../../src/daemon/session/session.ts';
import type { SessionClaim } from '../../../src/daemon/store/claims.ts';
import type { StoredAnswer } from '../../../src/daemon/store/idempotency.ts';
import type { SaveOutcome } from '../../../src/daemon/store/sessions.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import type { CommitOutcome, TurnChanges } from '../../../src/daemon/store/turns.ts';
import type { TraceRecord } from '../../../src/daemon/trace/trace-record.ts';
import { aTrace } from '../../contract/fixtures.ts';

/** Saves a new session, under a claim that ends with it. */
export async function saveSession(store: Store, session: Session): Promise<SaveOutcome> {
  return await claimed(store, tagOf(session), (claim) => store.sessions.save(claim, session, 'new'));
}

/** Adds a turn to a session that is there. */
export async function keepTurn(
  store: Store,
  session_tag: string,
  record: StoredTurn,
  trace: TraceRecord,
  ttl_ms: number,
): Promise<CommitOutcome> {
  return await commitTurn(store, session_tag, { turn: { record, ttl_ms }, trace });
}

/** Stores the answer of an idempotency key. */
export async function answerKey(store: Store, key: string, answer: StoredAnswer, ttl_ms: number) {
  const found = await store.idempotency.claim(key, 'body');
  if (found.outcome !== 'new') throw new Error(`the key is ${found.outcome}`);
  const changes = { answer: { claim: found.claim, answer, ttl_ms }, trace: aTrace(null) };
  return await commitTurn(store, 'chat:s', changes).finally(() => store.idempotency.release(found.claim));
}

/** Stores what a turn changes, under a claim of the session that ends with it. */
export async function commitTurn(
  store: Store,
  session_tag: string,
  changes: TurnChanges,
): Promise<CommitOutcome> {
  return await claimed(store, session_tag, (claim) => store.commitTurn(claim, changes));
}

async function claimed<T>(
  store: Store,
  session_tag: string,
  write: (claim: SessionClaim) => Promise<T>,
): Promise<T> {
  const claim = await store.sessions.claim(session_tag);
  if (!claim) throw new Error('the session is claimed by another caller');
  try {
    return await write(claim);
  } finally {
    await store.sessions.release(claim);
  }
}
