import { PersonMatch } from '../person-match.ts';
import { ERASED_MS, type PersonRecords, type PersonSelector, type PersonStore } from '../persons.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function personSteps({ state, claims, clock }: MemoryContext): Steps<PersonStore> {
  return {
    show: (of) => visit(of, false),
    erase: (of) => visit(of, true),
  };

  /** Finds all data of a person or a platform's user. Deletes it if `erases` is true. */
  function visit(of: PersonSelector, erases: boolean): PersonRecords {
    const match = new PersonMatch(of);
    /** @returns the values that belong to the person or user, newest first. */
    const take = <Key, Value>(
      map: Map<Key, Value>,
      isTheirs: (value: Value, key: Key) => boolean,
    ): Value[] => {
      const found = [...map].filter(([key, value]) => isTheirs(value, key));
      if (erases) for (const [key] of found) map.delete(key);
      return found.map(([, value]) => value).reverse();
    };
    const takeFrom = <Value>(list: Value[], isTheirs: (value: Value) => boolean): number => {
      const found = list.filter(isTheirs);
      if (erases) for (const one of found) list.splice(list.indexOf(one), 1);
      return found.length;
    };

    let summaries = 0;
    const sessions = [...state.sessions].flatMap(([tag, stored]) => {
      const found = match.session(stored.session, stored.turns);
      if (found === null) return [];
      summaries += stored.summaries.length;
      const shown = match.shown(found);
      if (erases && !found.shared) {
        state.sessions.delete(tag);
        claims.sessions.end(tag);
        for (const name of [tag, stored.session.session_id]) state.erased.set(name, clock.now() + ERASED_MS);
      } else if (erases) {
        stored.session = match.untied(stored.session);
        stored.turns = stored.turns.filter((turn) => !found.turns.includes(turn));
        stored.summaries = [];
      }
      return [shown];
    });
    const users = take(state.guard_users, (one, key) => match.guard(key, one.state)).length;
    const answers = take(state.answers, ({ answer }, key) => match.answer(key, answer)).length;
    const links = take(state.links, (link) => match.link(link)).sort((a, b) => (a.key < b.key ? -1 : 1));
    const actions = take(state.actions, ({ action }) => match.action(action)).map(({ action }) => action);
    const inbox = take(state.inbox, ({ message }) => match.inbox(message)).map(({ message }) => message);
    if (erases) {
      for (const message of inbox) {
        const { id } = message;
        claims.inbox.end(id);
        state.erased.set(id, clock.now() + ERASED_MS);
        const tag = match.runsIn(message);
        if (tag !== null) claims.sessions.end(tag);
      }
      state.memories.delete('person' in of ? of.person : `${of.platform}:${of.user_id}`);
    }
    const traces =
      takeFrom(state.traces, ({ trace }) => match.trace(trace)) +
      takeFrom(state.refused, ({ trace }) => match.trace(trace));
    const streams = take(state.streams, ({ record }) => match.stream(record));
    if (erases) for (const { record } of streams) claims.streams.end(record.stream_id);
    const guard = users + take(state.guard_turns, (_, tag) => match.guardTurns(tag)).length;
    const others = {
      summaries,
      traces,
      streams: streams.length,
      answers,
      seen_messages: take(state.seen, ({ user_id }, key) => {
        const [platform, message_id] = JSON.parse(key) as [string, string];
        return match.seenMessage(platform, message_id, user_id);
      }).length,
      guard,
      limits: take(state.limits, (_, key) => match.limit(key)).length,
      budgets: take(state.budgets, (_, key) => match.budget(key)).length,
    };
    const newest = sessions.reverse().sort((a, b) => b.session.last_active_at - a.session.last_active_at);
    return { sessions: newest, links, actions, inbox, others };
  }
}
