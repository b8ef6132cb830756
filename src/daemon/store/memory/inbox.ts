import { afterVerdict } from '../after-verdict.ts';
import { INBOX_FOUND_MAX } from '../bounds.ts';
import { dueAt } from '../due-at.ts';
import type {
  AttemptKind,
  AttemptOutcome,
  InboxClaim,
  InboxCount,
  InboxMessage,
  InboxStore,
  NewInboxMessage,
} from '../inbox.ts';
import { settled } from '../settled.ts';
import type { TurnChanges } from '../turns.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import { checkMessage } from './guard.ts';
import { outagesOf } from './outages.ts';
import { noteAsked, withdraw } from './pending-actions.ts';
import { noteSeen, seenMessage } from './seen.ts';
import type { StoredMessage } from './state.ts';
import { keepTrace } from './traces.ts';

/** The first message of an unclaimed queue. */
interface Head {
  stored: StoredMessage;
  due_at: number;
}

export function inboxSteps(context: MemoryContext): Steps<InboxStore> {
  const { state, clock } = context;
  const claims = context.claims.inbox;
  const stored = () => [...state.inbox.values()];
  const newestFirst = () =>
    stored()
      .reverse()
      .map(({ message }) => message);
  const isClaimed = ({ message }: StoredMessage) => claims.exists(message.id);
  const change = (found: StoredMessage, to: Partial<InboxMessage>) => changeMessage(context, found, to);

  /** The first message of each unclaimed queue, in the order in which they are claimed. */
  const heads = (kind: AttemptKind, platforms: readonly string[]): Head[] => {
    const queues = Map.groupBy(
      stored().filter(({ message }) => message.ended_at === null),
      ({ message }) => message.queue,
    );
    return [...queues.values()]
      .filter((queue) => !queue.some(isClaimed))
      .map(([first]) => first as StoredMessage)
      .filter(({ message }) => platforms.includes(message.platform) && kindOf(message) === kind)
      .map((first) => ({
        stored: first,
        due_at: dueAt(first.message.next_attempt_at, first.wait_ms, clock.now()),
      }))
      .sort((a, b) => interruptedOf(a) - interruptedOf(b) || a.due_at - b.due_at);
  };

  const holdsInterrupted = (kind: AttemptKind, platforms: readonly string[]) =>
    heads(kind, platforms).some((head) => interruptedOf(head) > 0);

  const claim = (
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which: 'fresh' | 'interrupted' = 'fresh',
  ) =>
    heads(kind, platforms)
      .filter((head) => interruptedOf(head) > 0 === (which === 'interrupted'))
      .filter(({ due_at }) => due_at <= clock.now())
      .slice(0, limit)
      .map(({ stored: found }): InboxClaim => {
        const owner = claims.take(found.message.id);
        if (owner === null) throw new Error('a message of an unclaimed queue is claimed');
        found.message = begun(found.message, clock.now());
        return { owner, message: found.message };
      });

  const retry = (found: StoredMessage) => {
    const { state: at } = found.message;
    if (at === 'failed') change(found, begunAnew(found.message, clock.now()));
    else if (at === 'waiting' || at === 'replied') change(found, { next_attempt_at: clock.now() });
    else return false;
    return true;
  };

  return {
    enqueue: (messages) => enqueue(context, messages),
    screen(arrivals, limits) {
      const verdicts = arrivals.map(({ guarded }) => checkMessage(context, guarded, limits));
      const after = arrivals.map((arrival, place) =>
        afterVerdict(arrival, verdicts[place] as (typeof verdicts)[number], clock.now()),
      );
      for (const { trace } of after) if (trace !== null) keepTrace(context, trace);
      const outcomes = enqueue(
        context,
        after.flatMap(({ message }) => message ?? []),
      );
      return {
        verdicts,
        outcomes: outcomes && after.map(({ message }) => (message && outcomes.shift()) ?? null),
      };
    },
    edit({ platform, message_id, user_id, session_id, text }) {
      const { id } = seenMessage(context, platform, message_id);
      const found = id === null ? undefined : state.inbox.get(id);
      if (found?.message.state !== 'waiting' || found.message.attempts > 0) return false;
      const { message } = found.message;
      if (message?.user_id !== user_id || found.message.session_id !== session_id) return false;
      Object.assign(message, { text, edited: true });
      return true;
    },
    claim,
    take(platforms, room) {
      const outages = outagesOf(context);
      const near = platforms.filter((name) => !outages.some(({ platform }) => platform === name));
      const interrupted = holdsInterrupted('run', platforms) || holdsInterrupted('send', near);
      if (interrupted) return { outages, interrupted, claims: [] };
      const taken = [...claim('run', platforms, room.run), ...claim('send', near, room.send)];
      return { outages, interrupted, claims: taken };
    },
    renew: ({ message, owner }) => claims.renew(message.id, owner),
    settle(claim, outcome) {
      if (!claims.isHeld(claim.message.id, claim.owner)) return false;
      settleClaimed(context, claim, outcome);
      return true;
    },
    partsSent: (id) => state.inbox.get(id)?.message.parts_sent ?? 0,
    notePartsSent(id, parts) {
      const message = state.inbox.get(id)?.message;
      if (message) message.parts_sent = Math.max(message.parts_sent, parts);
    },
    expire(platform, stored_until, failure) {
      const expired = stored().filter(
        (found) =>
          found.message.platform === platform &&
          found.message.state === 'replied' &&
          (found.message.text_stored_at ?? 0) <= stored_until &&
          !isClaimed(found),
      );
      for (const found of expired) {
        change(found, settled(found.message, { kind: 'failed', failure }, clock.now()));
        settleQuestion(context, found);
      }
      return expired.length;
    },
    reap() {
      const dead = stored().filter((found) => isClaimed(found) && !claims.isValid(found.message.id));
      for (const { message } of dead) {
        claims.end(message.id);
        message.interrupted++;
        if (message.state === 'running') message.state = 'waiting';
      }
      return dead.length;
    },
    nextDueAt(kind, platforms) {
      const times = heads(kind, platforms).map(({ due_at }) => due_at);
      return times.length === 0 ? null : Math.min(...times);
    },
    holdsInterrupted,
    list: ({ states, limit }) =>
      newestFirst()
        .filter(({ state: at }) => states.includes(at))
        .slice(0, limit),
    counts: () => {
      const groups = Map.groupBy(
        stored().filter(({ message }) => message.state !== 'done'),
        ({ message }) => JSON.stringify([message.platform, message.state]),
      );
      return [...groups.values()].map((group): InboxCount => {
        const { platform, state: at } = (group[0] as StoredMessage).message;
        return {
          platform,
          state: at as InboxCount['state'],
          messages: group.length,
          oldest_at: Math.min(...group.map(({ message }) => message.received_at)),
        };
      });
    },
    find: (id) => state.inbox.get(id)?.message ?? null,
    search: (id) =>
      newestFirst()
        .filter((message) => isNamed(message, id))
        .slice(0, INBOX_FOUND_MAX),
    retry(id) {
      const found = state.inbox.get(id);
      return found !== undefined && retry(found);
    },
    retryFailed({ platform, failed_since = 0 }) {
      const failed = stored().filter(
        ({ message }) =>
          message.state === 'failed' &&
          (message.ended_at ?? 0) >= failed_since &&
          (platform === undefined || message.platform === platform),
      );
      failed.forEach(retry);
      return failed.map(({ message }) => message.id);
    },
    discard(id) {
      claims.end(id);
      dropUnasked(context, id);
      return state.inbox.delete(id);
    },
  };
}

/** Records the outcome of an attempt and ends its claim. The caller has checked that the claim is held. */
export function settleClaimed(
  context: MemoryContext,
  { message: { id } }: InboxClaim,
  outcome: AttemptOutcome,
): void {
  const found = claimedMessage(context, id);
  changeMessage(context, found, settled(found.message, outcome, context.clock.now()));
  settleQuestion(context, found);
  context.claims.inbox.end(id);
}

/** A question counts as asked once the reply that contains it was sent. */
function settleQuestion(context: MemoryContext, { message: { id, state } }: StoredMessage): void {
  if (state === 'done') noteAsked(context, id);
  if (state === 'failed') dropUnasked(context, id);
}

/**
 * Withdraws the action that this message asks the person to confirm: the reply will not be sent, so nobody can answer
 * the question.
 */
function dropUnasked(context: MemoryContext, id: string): void {
  withdraw(context, ({ asked_at }, asked_by) => asked_at === null && asked_by === id);
}

/**
 * Stores the reply of a message, and begins the first attempt to send it. The caller has checked that the claim is
 * held.
 */
export function storeReply(
  context: MemoryContext,
  { claim, text: reply, question = null }: NonNullable<TurnChanges['reply']>,
): void {
  const found = claimedMessage(context, claim.message.id);
  found.message = {
    ...found.message,
    ...{ reply, question, state: 'replied', sends: 1, text_stored_at: context.clock.now(), parts_sent: 0 },
    ...{ failure: null, interrupted: 0 },
  };
}

/** Returns the message of a held claim. It exists, because deleting a message also ends its claim. */
function claimedMessage({ state }: MemoryContext, id: string): StoredMessage {
  const found = state.inbox.get(id);
  if (!found) throw new Error('a message that is claimed is not in the inbox');
  return found;
}

function changeMessage({ clock }: MemoryContext, found: StoredMessage, to: Partial<InboxMessage>): void {
  found.message = { ...found.message, ...to };
  found.wait_ms = found.message.next_attempt_at - clock.now();
}

function enqueue(
  context: MemoryContext,
  messages: readonly NewInboxMessage[],
): ('kept' | 'repeated')[] | null {
  const { state, clock, bounds } = context;
  const ids = new Set<string>();
  const isNew = messages.map(({ platform, message_id }) => {
    const name = JSON.stringify([platform, message_id]);
    if (message_id === null) return true;
    if (ids.has(name) || seenMessage(context, platform, message_id).id !== null) return false;
    ids.add(name);
    return true;
  });
  const fresh = messages.filter((_, place) => isNew[place]);
  const open = [...state.inbox.values()].filter(({ message }) => message.ended_at === null).length;
  if (fresh.length > 0 && open + fresh.length > bounds.inboxMax) return null;
  for (const message of fresh) {
    state.inbox.set(message.id, { message: received(message, clock.now()), wait_ms: 0 });
    const { id, user_id } = message;
    noteSeen(context, message.platform, message.message_id, { id, user_id });
  }
  return isNew.map((is) => (is ? 'kept' : 'repeated'));
}

function received(message: NewInboxMessage, now: number): InboxMessage {
  return {
    ...message,
    state: message.reply === null ? 'waiting' : 'replied',
    received_at: now,
    ...{ attempts: 0, passing: 0, first_run_at: null, sends: 0 },
    ...{ text_stored_at: message.reply === null ? null : now, parts_sent: 0, interrupted: 0 },
    question: null,
    ...{ next_attempt_at: now, notice: null, failure: null, notice_failure: null, ended_at: null },
  };
}

/** The message after an attempt at it has begun. */
function begun(message: InboxMessage, now: number): InboxMessage {
  const { state, attempts, first_run_at, sends } = message;
  if (state === 'replied') return { ...message, sends: sends + 1 };
  return { ...message, state: 'running', attempts: attempts + 1, first_run_at: first_run_at ?? now };
}

/**
 * A failed message after its restart, as if no attempt at it had been made. Its reply continues with the first part
 * that the platform has not confirmed.
 */
function begunAnew(message: InboxMessage, now: number): InboxMessage {
  const isReplied = message.reply !== null;
  return {
    ...message,
    state: isReplied ? 'replied' : 'waiting',
    ...{ attempts: 0, passing: 0, first_run_at: null, sends: 0, interrupted: 0 },
    ...{ text_stored_at: isReplied ? now : null, parts_sent: isReplied ? message.parts_sent : 0 },
    ...{ notice: null, failure: null, notice_failure: null, ended_at: null, next_attempt_at: now },
  };
}

function kindOf({ state }: InboxMessage): AttemptKind {
  return state === 'replied' ? 'send' : 'run';
}

function interruptedOf({ stored }: Head): number {
  return stored.message.interrupted;
}

function isNamed(message: InboxMessage, name: string): boolean {
  const { id, message_id, platform, state, request_id, session_id } = message;
  if (name === id || name === message_id) return true;
  if (message_id !== null && name === `${platform}:${message_id}`) return true;
  return state !== 'done' && (name === request_id || name === session_id);
}
