import { hitsOf, listHits } from '../../guard/hits.ts';
import { circuitAt, type GuardUserState, judge, type MessageHit } from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict, SessionTurns } from '../../guard/verdict.ts';
import { subOf } from '../../identity/identity.ts';
import { tagOf } from '../../session/session.ts';
import { GUARD_LISTED_MAX } from '../bounds.ts';
import type { GuardStore } from '../guard.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { noteSeen, seenMessage } from './seen.ts';
import { findSession, putSession } from './session-document.ts';

export interface StoredGuardUser {
  user: GuardUserState['user'];
  circuit: GuardUserState['circuit'];
  messages: MessageHit[];
  expires_at: number;
}

export const GUARD_USER: Kind<StoredGuardUser> = {
  name: 'guard_user',
  expires: ({ expires_at }) => expires_at,
};

/** The count of a session's turns, by the tag of the session. A stored session and its count end together. */
export const GUARD_TURNS: Kind<SessionTurns> = { name: 'guard_turns', expires: ({ ends_at }) => ends_at };

export function guardStore(kernel: Kernel): GuardStore {
  return {
    check: (message, limits) =>
      kernel.step(
        (tx) => checkMessage(tx, message, limits),
        message.message_id === null ? { lazy: true } : {},
      ),
    giveBackTurn: (session_tag) =>
      kernel.step((tx) => {
        const count = tx.get(GUARD_TURNS, session_tag);
        if (count !== null && count.turns > 0)
          tx.put(GUARD_TURNS, session_tag, { ...count, turns: count.turns - 1 });
      }),
    async list() {
      const now = await kernel.step((tx) => tx.now);
      const circuits = [];
      for await (const { doc } of kernel.scan(GUARD_USER)) {
        const circuit = circuitAt(doc.circuit, now);
        if (circuit && circuit.open_until > now) circuits.push({ ...doc.user, ...circuit });
      }
      const sessions = [];
      for await (const { key: tag, doc: count } of kernel.scan(GUARD_TURNS)) {
        if (count.blocked === 0) continue;
        const stored = await kernel.step((tx) => findSession(tx, tag));
        sessions.push({ session_id: stored?.session.session_id ?? tag, ...count });
      }
      return {
        circuits: circuits.sort((a, b) => b.opened_at - a.opened_at).slice(0, GUARD_LISTED_MAX),
        sessions: sessions.sort((a, b) => b.ends_at - a.ends_at).slice(0, GUARD_LISTED_MAX),
      };
    },
    async resetUser(platform, name) {
      let isFound = false;
      for await (const { key, doc } of kernel.scan(GUARD_USER)) {
        const { user } = doc;
        const isNamed = user.user_id === name || (user.person !== null && subOf(user.person) === name);
        if (user.platform !== platform || !isNamed) continue;
        isFound = true;
        await kernel.step((tx) => tx.delete(GUARD_USER, key));
      }
      return isFound;
    },
    resetSession: (session_id) =>
      kernel.step((tx) => {
        const stored = findSession(tx, session_id);
        const tag = stored === null ? session_id : tagOf(stored.session);
        const isCounted = tx.get(GUARD_TURNS, tag) !== null;
        tx.delete(GUARD_TURNS, tag);
        return isCounted;
      }),
    async resetAll() {
      for (const kind of [GUARD_USER, GUARD_TURNS] as const)
        for await (const { key } of kernel.scan<unknown>(kind as Kind<unknown>))
          await kernel.step((tx) => tx.delete(kind, key));
    },
  };
}

/** Judges a message, and stores the verdict together with all changes. */
export function checkMessage(tx: Tx, message: GuardedMessage, limits: GuardLimits): GuardVerdict {
  const { user, session_id: tag, message_id } = message;
  const stored = tx.get(GUARD_USER, user.key);
  // Hits share their array with the hits that are made of them, and a document must not change.
  const before = {
    verdict: seenMessage(tx, user.platform, message_id).verdict,
    user: stored && { user: stored.user, circuit: stored.circuit, messages: hitsOf([...stored.messages]) },
    turns: tx.get(GUARD_TURNS, tag),
  };
  const { verdict, state: after, user_expires_at } = judge(before, message, limits, tx.now);
  if (verdict.repeated) return verdict;
  noteSeen(tx, user.platform, message_id, { verdict, user_id: user.user_id });
  if (after.user !== null) {
    tx.put(GUARD_USER, user.key, {
      user: after.user.user,
      circuit: after.user.circuit,
      messages: listHits(after.user.messages),
      expires_at: Math.max(stored?.expires_at ?? 0, user_expires_at),
    });
  }
  if (after.turns !== null && after.turns !== before.turns) putTurns(tx, tag, after.turns, before.turns);
  return verdict;
}

/**
 * Stores the count of a session. A session and its count end together: a new count gets the end of the session. If the
 * count existed before, both get the earlier of their ends.
 */
function putTurns(tx: Tx, tag: string, after: SessionTurns, before: SessionTurns | null): void {
  const session = findSession(tx, tag);
  const own = session?.session.expires_at;
  const ends_at = before === null ? (own ?? after.ends_at) : Math.min(after.ends_at, own ?? after.ends_at);
  if (session !== null && ends_at !== own)
    putSession(tx, { ...session, session: { ...session.session, expires_at: ends_at } });
  tx.put(GUARD_TURNS, tag, { ...after, ends_at });
}
