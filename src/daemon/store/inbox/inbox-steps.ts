import type { GuardLimits } from '../../guard/verdict.ts';
import { dueAt } from '../../time/clock.ts';
import { actionsOfQuestion } from '../actions/action-document.ts';
import { closeDueCards, noteCard } from '../actions/question-cards.ts';
import { dropUnasked, noteAsked, noteNotice } from '../actions/questions.ts';
import { CLAIMS, clamped, isValid, newClaim, ONLY_CLAIMS, renewed } from '../claims/claim-state.ts';
import { noteSentAnswer } from '../feedback.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { checkMessage } from '../limits/guard.ts';
import { answerIfLinked } from '../links/links.ts';
import { moveQuestion } from '../links/waiting-questions.ts';
import type { TurnChanges } from '../sessions/turns.ts';
import { stepsOf } from '../steps-of.ts';
import { isErased, keepTrace, type TraceRings } from '../traces.ts';
import { afterVerdict } from './after-verdict.ts';
import { collectTurn } from './collect-turn.ts';
import type {
  AttemptKind,
  AttemptOutcome,
  InboxClaim,
  InboxEdit,
  InboxMessage,
  InboxStore,
  NewInboxMessage,
  Room,
  Screened,
  ScreenedMessage,
  SignInHinted,
  Taken,
} from './inbox.ts';
import {
  collectingIndex,
  dropMessage,
  endCollecting,
  heads,
  type InboxBounds,
  MESSAGE,
  putMessage,
  type StoredMessage,
  storeMessage,
  type WaitingHead,
} from './inbox-document.ts';
import { inboxRecords } from './inbox-records.ts';
import { listOutages } from './outages.ts';
import { noteSeen, seenMessage } from './seen.ts';
import { changed, replied, settled } from './settled.ts';

/** How many heads a claim looks at beyond its limit: a clock that was set back can make an earlier one not due. */
const LOOKED_AT = 64;
/** Maximum number of messages that one step of `expire` or `reap` changes. */
const BATCH = 1000;

export function inboxStore(kernel: Kernel, bounds: InboxBounds, rings: TraceRings): InboxStore {
  const step = stepsOf(kernel);
  return {
    ...inboxRecords(kernel, bounds),
    enqueue: step((tx, messages) => enqueue(tx, messages, bounds)),
    screen: step((tx, arrivals, limits) => screen(tx, arrivals, limits, bounds, rings)),
    edit: step(edit),
    claim: step(claim, CLAIMS),
    take: step(take, CLAIMS),
    renew: step(renew, ONLY_CLAIMS),
    collect: step(collect),
    endCollecting: step(endCollectingOf),
    settle: step((tx, claim, outcome) => settle(tx, claim, outcome, bounds)),
    completeSignIn: step(completeSignIn),
    partsSent: step((tx, id) => tx.get(MESSAGE, id)?.message.parts_sent ?? 0),
    notePartsSent: step(notePartsSent),
    expire: step((tx, platform, stored_until, failure) =>
      expire(tx, platform, stored_until, failure, bounds),
    ),
    reap: step(reap, CLAIMS),
    nextDueAt: step(nextDueAt),
  };
}

/** @returns null if the inbox is full. */
function enqueue(
  tx: Tx,
  messages: readonly NewInboxMessage[],
  { inboxMax }: InboxBounds,
): ('kept' | 'repeated')[] | null {
  const names = new Set<string>();
  const isNew = messages.map(({ platform, message_id, link_code = null }) => {
    if (isErased(tx, [link_code])) return false;
    const name = JSON.stringify([platform, message_id]);
    if (message_id === null) return true;
    if (names.has(name) || seenMessage(tx, platform, message_id).id !== null) return false;
    names.add(name);
    return true;
  });
  const fresh = messages.filter((_, place) => isNew[place]);
  if (fresh.length > 0 && tx.count(MESSAGE, 'open') + fresh.length > inboxMax) return null;
  for (const message of fresh) {
    if (message.collects === undefined) endCollecting(tx, message.queue);
    storeMessage(tx, message);
    const { id, platform, message_id, user_id } = message;
    noteSeen(tx, platform, message_id, { ...seenMessage(tx, platform, message_id), id, user_id });
  }
  return isNew.map((is) => (is ? 'kept' : 'repeated'));
}

function screen(
  tx: Tx,
  arrivals: readonly ScreenedMessage[],
  limits: GuardLimits,
  bounds: InboxBounds,
  rings: TraceRings,
): Screened {
  const verdicts = arrivals.map(({ guarded }) => checkMessage(tx, guarded, limits));
  const after = arrivals.map((arrival, place) =>
    afterVerdict(arrival, verdicts[place] as (typeof verdicts)[number], tx.now),
  );
  for (const { trace } of after) if (trace !== null) keepTrace(tx, rings.answered, trace);
  const messages = after.flatMap(({ message }) => message ?? []);
  const outcomes = enqueue(tx, messages, bounds);
  return {
    verdicts,
    outcomes: outcomes && after.map(({ message }) => (message && outcomes.shift()) ?? null),
  };
}

function edit(tx: Tx, { platform, message_id, user_id, session_id, text }: InboxEdit): boolean {
  const { id } = seenMessage(tx, platform, message_id);
  const found = id === null ? null : tx.get(MESSAGE, id);
  if (found?.message.state !== 'waiting' || found.message.attempts > 0) return false;
  const { message: written, collected, turn_id } = found.message;
  if (collected !== undefined || turn_id !== undefined) return false;
  if (written?.user_id !== user_id || found.message.session_id !== session_id) return false;
  const message = { ...written, text, edited: true as const };
  putMessage(tx, { ...found, message: { ...found.message, message } });
  return true;
}

function claim(
  tx: Tx,
  kind: AttemptKind,
  platforms: readonly string[],
  limit: number,
  which: 'fresh' | 'interrupted' = 'fresh',
): InboxClaim[] {
  // While all workers are busy, each message that arrives would read many heads in vain.
  if (limit === 0) return [];
  const interruptions = ({ interrupted }: WaitingHead) => (which === 'fresh' ? 0 : interrupted);
  return platforms
    .flatMap((platform) => heads(tx, which, kind, platform, limit + LOOKED_AT))
    .map((head) => ({ head, due_at: dueTime(tx, head) }))
    .filter(({ due_at }) => due_at <= tx.now)
    .sort((one, other) => {
      const fewer = interruptions(one.head) - interruptions(other.head);
      return fewer || one.due_at - other.due_at || one.head.serial - other.head.serial;
    })
    .slice(0, limit)
    .map(({ head: { id } }) => {
      const stored = tx.get(MESSAGE, id);
      if (stored === null) throw new Error('the first message of a queue is not in the inbox');
      const taken = { ...stored, message: begun(stored.message, tx.now), claim: newClaim(tx) };
      putMessage(tx, taken);
      return { owner: taken.claim.owner, message: taken.message };
    });
}

/** The message after an attempt at it has begun. */
function begun(message: InboxMessage, now: number): InboxMessage {
  const { state, attempts, first_run_at, sends } = message;
  if (state === 'replied') return { ...message, sends: sends + 1 };
  return { ...message, state: 'running', attempts: attempts + 1, first_run_at: first_run_at ?? now };
}

function take(tx: Tx, platforms: readonly string[], room: Room): Taken {
  const outages = listOutages(tx);
  const near = platforms.filter((name) => !outages.some(({ platform }) => platform === name));
  // A run needs no platform that can be reached.
  const lanes = [
    { kind: 'run', names: platforms },
    { kind: 'send', names: near },
  ] as const;
  for (const { kind, names } of lanes.filter((lane) => holdsInterrupted(tx, lane.kind, lane.names))) {
    const claims = room.idle ? claim(tx, kind, names, 1, 'interrupted') : [];
    if (!room.idle || claims.length > 0) return { outages, interrupted: true, claims };
  }
  const claims = lanes.flatMap(({ kind, names }) => claim(tx, kind, names, room[kind]));
  return { outages, interrupted: false, claims };
}

function renew(tx: Tx, claim: InboxClaim): boolean {
  const stored = heldMessage(tx, claim);
  if (stored?.claim) putMessage(tx, { ...stored, claim: renewed(stored.claim, tx) });
  return stored !== null;
}

function collect(tx: Tx, claim: InboxClaim): InboxMessage[] | null {
  const stored = heldMessage(tx, claim);
  if (stored === null) return null;
  const { collects, collected = [] } = stored.message;
  const isFixed = collects === undefined || stored.message.collected !== undefined;
  const ids = isFixed ? collected : collectTurn(tx, stored);
  return ids.flatMap((id) => tx.get(MESSAGE, id)?.message ?? []);
}

function endCollectingOf(tx: Tx, platform: string, user_id: string): void {
  const waiting = tx.first(MESSAGE, collectingIndex(platform, user_id), BATCH);
  for (const queue of new Set(waiting.map(({ doc }) => doc.message.queue))) endCollecting(tx, queue);
}

function settle(tx: Tx, claim: InboxClaim, outcome: AttemptOutcome, bounds: InboxBounds): boolean {
  const stored = heldMessage(tx, claim);
  if (stored !== null) settleStored(tx, stored, outcome, bounds);
  return stored !== null;
}

function completeSignIn(
  tx: Tx,
  claim: InboxClaim,
  { reply, begins_at, private_run }: SignInHinted,
): InboxMessage | null {
  const stored = heldMessage(tx, claim);
  if (stored === null) return null;
  const { sign_in: _completed, question, ...message } = stored.message;
  const asked = question && { ...question, begins_at: begins_at ?? question.begins_at };
  const completed = { ...message, reply, question: asked };
  putMessage(tx, { ...stored, message: completed });
  const link_key = moveQuestion(tx, message.id, private_run);
  if (link_key !== null) answerIfLinked(tx, link_key);
  return completed;
}

function notePartsSent(tx: Tx, id: string, parts: number): void {
  const stored = tx.get(MESSAGE, id);
  if (stored !== null && parts > stored.message.parts_sent)
    putMessage(tx, { ...stored, message: { ...stored.message, parts_sent: parts } });
}

function expire(
  tx: Tx,
  platform: string,
  stored_until: number,
  failure: string,
  bounds: InboxBounds,
): number {
  const texts = tx
    .first(MESSAGE, `replied ${platform}`, BATCH)
    .filter(({ doc }) => (doc.message.text_stored_at ?? 0) <= stored_until);
  for (const { doc } of texts) settleStored(tx, doc, { kind: 'failed', failure }, bounds);
  return texts.length;
}

function reap(tx: Tx): number {
  closeDueCards(tx);
  let reaped = 0;
  for (const { doc } of tx.first(MESSAGE, 'claimed', BATCH)) {
    if (doc.claim !== null && isValid(doc.claim, tx)) {
      const limited = clamped(doc.claim, tx);
      if (limited !== doc.claim) putMessage(tx, { ...doc, claim: limited });
      continue;
    }
    const { message } = doc;
    const state = message.state === 'running' ? 'waiting' : message.state;
    const interrupted = message.interrupted + 1;
    putMessage(tx, { ...doc, claim: null, message: { ...message, state, interrupted } });
    reaped++;
  }
  return reaped;
}

function nextDueAt(tx: Tx, kind: AttemptKind, platforms: readonly string[]): number | null {
  const times = platforms.flatMap((platform) =>
    (['fresh', 'interrupted'] as const).flatMap((which) =>
      heads(tx, which, kind, platform, LOOKED_AT).map((head) => dueTime(tx, head)),
    ),
  );
  return times.length === 0 ? null : Math.min(...times);
}

function holdsInterrupted(tx: Tx, kind: AttemptKind, platforms: readonly string[]): boolean {
  return platforms.some((platform) => heads(tx, 'interrupted', kind, platform, 1).length > 0);
}

function dueTime(tx: Tx, { due_at, wait_ms }: WaitingHead): number {
  return dueAt(due_at, wait_ms, tx.now);
}

/** The message of a claim that is still held; null if it is lost. */
export function heldMessage(tx: Tx, { message: { id }, owner }: InboxClaim): StoredMessage | null {
  const stored = tx.get(MESSAGE, id);
  return stored?.claim?.owner === owner ? stored : null;
}

/** Records the outcome of an attempt and ends its claim. */
export function settleStored(
  tx: Tx,
  stored: StoredMessage,
  outcome: AttemptOutcome,
  { failedMax }: InboxBounds,
): void {
  const message = settled(stored.message, outcome, tx.now);
  putMessage(tx, { ...changed(tx, stored, message), claim: null });
  if (message.state === 'done') {
    noteAsked(tx, message.id);
    if (outcome.kind === 'sent' && outcome.card_id !== undefined && message.question)
      noteCard(tx, message.id, outcome.card_id, actionsOfQuestion(tx, message.question.id));
    if (message.follow_up !== undefined) storeMessage(tx, message.follow_up);
  }
  const { id: turn_id, platform, session_id, notice, user_id } = message;
  if (outcome.kind === 'sent' && message.state === 'done' && session_id !== null)
    noteSentAnswer(tx, { platform, turn_id, session_id }, outcome.sent_ids ?? []);
  if (message.state !== 'failed') return;
  if (outcome.kind === 'sent' && notice !== null && session_id !== null && user_id !== null)
    noteNotice(tx, session_id, user_id);
  if (message.is_hint) {
    dropMessage(tx, stored);
    return;
  }
  dropUnasked(tx, message.id);
  const surplus = tx.count(MESSAGE, 'failed') - failedMax;
  if (surplus > 0) for (const { doc } of tx.first(MESSAGE, 'failed', surplus)) dropMessage(tx, doc);
}

/** Stores the reply of a message, and begins the first attempt to send it. */
export function storeReply(tx: Tx, stored: StoredMessage, reply: NonNullable<TurnChanges['reply']>): void {
  putMessage(tx, { ...stored, message: replied(stored.message, reply, tx.now) });
}
