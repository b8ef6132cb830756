import { circuitAt } from '../../guard/circuit.ts';
import { type GuardUserState, judge } from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { subOf } from '../../identity/identity.ts';
import { tagOf } from '../../session/session.ts';
import { GUARD_LISTED_MAX } from '../bounds.ts';
import type { GuardStore } from '../guard.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import { noteSeen, seenMessage } from './seen.ts';
import { findSession } from './sessions.ts';

export function guardSteps(context: MemoryContext): Steps<GuardStore> {
  const { guard_users: users, guard_turns: turns } = context.state;
  const now = () => context.clock.now();
  return {
    check: (message, limits) => checkMessage(context, message, limits),
    giveBackTurn(session_tag) {
      const count = turns.get(session_tag);
      if (count && count.turns > 0) turns.set(session_tag, { ...count, turns: count.turns - 1 });
    },
    list() {
      const circuits = [...users.values()]
        .filter(({ expires_at }) => expires_at > now())
        .flatMap(({ state: { user, circuit: opened } }) => {
          const circuit = circuitAt(opened, now());
          return circuit && circuit.open_until > now() ? { ...user, ...circuit } : [];
        });
      const sessions = [...turns]
        .filter(([, { blocked, ends_at }]) => blocked > 0 && ends_at > now())
        .map(([tag, count]) => ({
          session_id: findSession(context, tag)?.session.session_id ?? tag,
          ...count,
        }));
      return {
        circuits: circuits.sort((a, b) => b.opened_at - a.opened_at).slice(0, GUARD_LISTED_MAX),
        sessions: sessions.sort((a, b) => b.ends_at - a.ends_at).slice(0, GUARD_LISTED_MAX),
      };
    },
    resetUser(platform, name) {
      const isNamed = ({ user }: GuardUserState) =>
        user.platform === platform &&
        (user.user_id === name || (user.person !== null && subOf(user.person) === name));
      const found = [...users].filter(([, { state, expires_at }]) => expires_at > now() && isNamed(state));
      for (const [key] of found) users.delete(key);
      return found.length > 0;
    },
    resetSession(session_id) {
      const stored = findSession(context, session_id);
      const tag = stored ? tagOf(stored.session) : session_id;
      const isCounted = (turns.get(tag)?.ends_at ?? 0) > now();
      turns.delete(tag);
      return isCounted;
    },
    resetAll() {
      users.clear();
      turns.clear();
    },
  };
}

/** Judges a message, and stores the verdict together with all changes. */
export function checkMessage(
  context: MemoryContext,
  message: GuardedMessage,
  limits: GuardLimits,
): GuardVerdict {
  const { state, clock } = context;
  const now = clock.now();
  const { user, session_id: tag, message_id } = message;
  const stored = state.guard_users.get(user.key);
  const counted = state.guard_turns.get(tag);
  const before = {
    verdict: seenMessage(context, user.platform, message_id).verdict,
    user: stored && stored.expires_at > now ? stored.state : null,
    turns: counted && counted.ends_at > now ? counted : null,
  };
  const { verdict, state: after, user_expires_at } = judge(before, message, limits, now);
  if (verdict.repeated) return verdict;
  noteSeen(context, user.platform, message_id, { verdict, user_id: user.user_id });
  if (after.user !== null) {
    const expires_at = Math.max(stored?.expires_at ?? 0, user_expires_at);
    state.guard_users.set(user.key, { state: after.user, expires_at });
  }
  if (after.turns !== null && after.turns !== before.turns) {
    // A session and its count end together. A new count gets the end of the session. If the count existed before, both
    // get the earlier of their ends.
    const session = findSession(context, tag)?.session;
    const first = Math.min(after.turns.ends_at, session?.expires_at ?? after.turns.ends_at);
    const ends_at = before.turns === null ? (session?.expires_at ?? first) : first;
    if (session) session.expires_at = ends_at;
    state.guard_turns.set(tag, { ...after.turns, ends_at });
  }
  return verdict;
}
