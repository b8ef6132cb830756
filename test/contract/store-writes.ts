import type { StoredTurn } from '../../src/daemon/session/session.ts';
import { type Session, sessionTag } from '../../src/daemon/session/session.ts';
import type { SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import type { SaveOutcome } from '../../src/daemon/store/sessions/sessions.ts';
import type { CommitOutcome, TurnChanges } from '../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { TraceRecord } from '../../src/daemon/trace/trace-record.ts';
import { aTrace, aTurn } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';

const HOUR = 60 * 60 * 1000;

/** Claims a session that nobody has claimed. */
export async function claimSession(store: Store, session_tag: string): Promise<SessionClaim> {
  const claim = await store.sessions.claim(session_tag);
  if (!claim) throw new Error(`the session ${session_tag} was already claimed`);
  return claim;
}

/** Makes so many calls at once, in turn at this daemon and at another. */
export async function callBoth<T>(
  { store, another }: StoreUnderTest,
  count: number,
  call: (store: Store, n: number) => Promise<T>,
): Promise<T[]> {
  const stores = [store, await another()] as const;
  return Promise.all(Array.from({ length: count }, (_, n) => call(stores[n % 2 ? 1 : 0], n)));
}

/** Claims a session, saves it and releases the claim. */
export function saveSession(
  store: Store,
  session: Session,
  as: 'new' | 'changed' | 'replaced' = 'new',
): Promise<SaveOutcome> {
  return underClaim(store, sessionTag(session), (claim) => store.sessions.save(claim, session, as));
}

/** Records what the person answered to a question about one action. */
export function answerOne(
  { actions }: Store,
  claim: SessionClaim,
  action_id: string,
  as: 'confirmed' | 'declined',
  turn_key: string,
): Promise<'settled' | 'gone' | 'lost'> {
  const answer = { confirmed: [], declined: [], answered_at: 7, [as]: [action_id] };
  return actions.answer(claim, answer, turn_key);
}

/** Records that the person has confirmed a pending action, and that its call begins. */
export async function beginConfirmed(
  store: Store,
  claim: SessionClaim,
  action_id: string,
  turn_key: string,
): Promise<void> {
  await answerOne(store, claim, action_id, 'confirmed', turn_key);
  const outcome = await store.actions.settle(claim, action_id, 'started', turn_key);
  if (outcome !== 'settled') throw new Error(`the call of ${action_id} did not begin: ${outcome}`);
}

/** Claims the session, commits a turn and releases the claim. */
export function commitUnderClaim(
  store: Store,
  session_tag: string,
  changes: TurnChanges,
): Promise<CommitOutcome> {
  return underClaim(store, session_tag, (claim) => store.commitTurn(claim, changes));
}

/** Stores a turn in a session, which then lives for an hour. @returns its trace. */
export async function keepTurn(
  store: Store,
  session: Session,
  members: Partial<StoredTurn> = {},
  ttl_ms = HOUR,
): Promise<TraceRecord> {
  const record = aTurn(members);
  const trace = aTrace(session, { turn_id: record.turn_id });
  const outcome = await commitUnderClaim(store, sessionTag(session), { turn: { record, ttl_ms }, trace });
  if (outcome !== 'committed') throw new Error(`the turn was not committed: ${outcome}`);
  return trace;
}

/** Stores the reply of a claimed message of the inbox. False if one of the claims is lost. */
export async function storeReply(
  store: Store,
  claim: InboxClaim,
  text: string,
  more: Pick<NonNullable<TurnChanges['reply']>, 'written_for'> = {},
): Promise<boolean> {
  const tag = claim.message.session_id ?? claim.message.id;
  return (
    (await commitUnderClaim(store, tag, { trace: aTrace(null), reply: { claim, text, ...more } })) ===
    'committed'
  );
}

/** Deletes everything that has expired. @returns the number of deleted records; 0 for a backend that needs no sweep. */
export async function sweepAll({ maintenance }: Store): Promise<number> {
  if (maintenance === null) return 0;
  let all = 0;
  for (let bite = await maintenance.sweep(); bite > 0; bite = await maintenance.sweep()) all += bite;
  return all;
}

/** Deletes what has expired at least a minute ago. Until then, a kernel may keep it for a step that has read it. */
export async function sweepExpired(test: Pick<StoreUnderTest, 'advance' | 'store'>): Promise<number> {
  test.advance(60_000);
  return sweepAll(test.store);
}

export async function underClaim<T>(
  store: Store,
  session_tag: string,
  work: (claim: SessionClaim) => Promise<T>,
): Promise<T> {
  const claim = await claimSession(store, session_tag);
  try {
    return await work(claim);
  } finally {
    await store.sessions.release(claim);
  }
}
