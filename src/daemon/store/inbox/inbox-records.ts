import { dropUnasked } from '../actions/questions.ts';
import { INBOX_FOUND_MAX } from '../bounds.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { endTurnQuestion } from '../links/waiting-questions.ts';
import { findFirst, listDocuments } from '../scans.ts';
import { stepsOf } from '../steps-of.ts';
import type { InboxCount, InboxMessage, InboxStore } from './inbox.ts';
import {
  dropMessage,
  endCollecting,
  type InboxBounds,
  MESSAGE,
  putMessage,
  type StoredMessage,
} from './inbox-document.ts';
import { changed } from './settled.ts';

/** How many messages one step of `retryFailed` changes. */
const RETRIED = 100;

/** What administrators ask and change of the inbox. */
export function inboxRecords(
  kernel: Kernel,
  bounds: InboxBounds,
): Pick<InboxStore, 'list' | 'counts' | 'find' | 'search' | 'retry' | 'retryFailed' | 'discard'> {
  const step = stepsOf(kernel);
  return {
    list: async ({ states, limit }) => {
      const isMeant = ({ message }: StoredMessage) => states.includes(message.state);
      const isOpen = states.every((state) => state !== 'done' && state !== 'failed');
      const found = isOpen
        ? (await kernel.step((tx) => openMessages(tx, bounds))).filter(isMeant).sort(byAge)
        : await findFirst(kernel, MESSAGE, { isMeant, compare: byAge, limit });
      return found.slice(0, limit).map(({ message }) => message);
    },
    counts: step((tx) => counts(tx, bounds)),
    find: step((tx, id) => tx.get(MESSAGE, id)?.message ?? null),
    search: step((tx, id) => search(tx, id, bounds)),
    retry: step(retry),
    retryFailed: (filter) => retryFailed(kernel, filter),
    discard: step(discard),
  };
}

function counts(tx: Tx, bounds: InboxBounds): InboxCount[] {
  const groups = Map.groupBy(unfinishedMessages(tx, bounds), ({ message }) =>
    JSON.stringify([message.platform, message.state]),
  );
  return [...groups.values()].map(countGroup);
}

function search(tx: Tx, id: string, bounds: InboxBounds): InboxMessage[] {
  const named = [tx.get(MESSAGE, id)];
  const colon = id.indexOf(':');
  for (const message_id of colon < 0 ? [id] : [id, id.slice(colon + 1)])
    named.push(...tx.first(MESSAGE, `message ${message_id}`, INBOX_FOUND_MAX).map(({ doc }) => doc));
  const found = [...named, ...unfinishedMessages(tx, bounds)].filter(
    (stored): stored is StoredMessage => stored !== null && isNamed(stored.message, id),
  );
  const distinct = new Map(found.map((stored) => [stored.message.id, stored]));
  const newest = [...distinct.values()].sort(byAge).slice(0, INBOX_FOUND_MAX);
  return newest.map(({ message }) => message);
}

function retry(tx: Tx, id: string): boolean {
  const stored = tx.get(MESSAGE, id);
  return stored !== null && retryTurn(tx, findTurn(tx, stored));
}

async function retryFailed(
  kernel: Kernel,
  { platform, failed_since = 0 }: { platform?: string; failed_since?: number },
): Promise<string[]> {
  const isMeant = ({ message: { state, ended_at, platform: on } }: StoredMessage) =>
    state === 'failed' && (ended_at ?? 0) >= failed_since && (platform === undefined || on === platform);
  const meant = (await listDocuments(kernel, MESSAGE, isMeant)).sort(
    (one, other) => one.serial - other.serial,
  );
  const retried: string[] = [];
  for (let next = 0; next < meant.length; next += RETRIED) {
    const batch = meant.slice(next, next + RETRIED);
    const before = new Set(retried);
    retried.push(
      ...(await kernel.step((tx) => {
        const done = new Set(before);
        for (const { message } of batch) {
          const stored = tx.get(MESSAGE, message.id);
          // The first message of a turn restarts the others, too.
          const isRestarted = done.has(message.turn_id ?? '');
          if (stored !== null && (isRestarted || (isMeant(stored) && retryTurn(tx, findTurn(tx, stored)))))
            done.add(message.id);
        }
        return [...done].filter((id) => !before.has(id));
      })),
    );
  }
  return retried;
}

function discard(tx: Tx, id: string): boolean {
  const stored = tx.get(MESSAGE, id);
  if (stored === null) return false;
  const first = findTurn(tx, stored);
  dropUnasked(tx, first.message.id);
  endTurnQuestion(tx, first.message.id);
  dropMessage(tx, first);
  return true;
}

/** The first message of the turn that a message is part of. */
function findTurn(tx: Tx, stored: StoredMessage): StoredMessage {
  const { turn_id } = stored.message;
  return (turn_id === undefined ? null : tx.get(MESSAGE, turn_id)) ?? stored;
}

function retryTurn(tx: Tx, stored: StoredMessage): boolean {
  const { message } = stored;
  const { state } = message;
  if (state !== 'failed' && state !== 'waiting' && state !== 'replied') return false;
  const anew = state === 'failed' ? begunAnew(message, tx.now) : { ...message, next_attempt_at: tx.now };
  putMessage(tx, changed(tx, stored, anew));
  if (message.collected === undefined) endCollecting(tx, message.queue);
  return true;
}

function openMessages(tx: Tx, { inboxMax }: InboxBounds): StoredMessage[] {
  return tx.first(MESSAGE, 'open', inboxMax).map(({ doc }) => doc);
}

function unfinishedMessages(tx: Tx, bounds: InboxBounds): StoredMessage[] {
  return [
    ...openMessages(tx, bounds),
    ...tx.first(MESSAGE, 'failed', bounds.failedMax).map(({ doc }) => doc),
  ];
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
    attempts: 0,
    passing: 0,
    first_run_at: null,
    sends: 0,
    interrupted: 0,
    text_stored_at: isReplied ? now : null,
    parts_sent: isReplied ? message.parts_sent : 0,
    notice: null,
    failure: null,
    notice_failure: null,
    ended_at: null,
    next_attempt_at: now,
  };
}

/** Newest first. */
function byAge(one: StoredMessage, other: StoredMessage): number {
  return other.serial - one.serial;
}

function countGroup(group: readonly StoredMessage[]): InboxCount {
  const { platform, state } = (group[0] as StoredMessage).message;
  return {
    platform,
    state: state as InboxCount['state'],
    messages: group.length,
    oldest_at: Math.min(...group.map(({ message }) => message.received_at)),
  };
}

function isNamed(message: InboxMessage, name: string): boolean {
  const { id, message_id, platform, state, request_id, session_id } = message;
  if (name === id || name === message_id) return true;
  if (message_id !== null && name === `${platform}:${message_id}`) return true;
  return state !== 'done' && (name === request_id || name === session_id);
}
