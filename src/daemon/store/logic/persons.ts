import { hitsOf } from '../../guard/hits.ts';
import { tagOf } from '../../session/session.ts';
import type { StoredAnswer } from '../idempotency.ts';
import type { Entry, Kernel, Kind, Ring } from '../kernels/kernel.ts';
import { PersonMatch } from '../person-match.ts';
import {
  ERASED_MS,
  type PersonRecords,
  type PersonSelector,
  type PersonSession,
  type PersonStore,
} from '../persons.ts';
import { ACTION } from './actions.ts';
import { BUDGET } from './budgets.ts';
import { SESSION_CLAIM } from './claim-state.ts';
import { GUARD_TURNS, GUARD_USER } from './guard.ts';
import { KEY } from './idempotency.ts';
import { dropMessage, MESSAGE } from './inbox-document.ts';
import { LIMIT } from './limits.ts';
import { LINK, linkOf, removeLink } from './links.ts';
import { MEMORIES } from './memories.ts';
import { SEEN } from './seen.ts';
import { dropSession, putSession, SESSION, type StoredSession } from './session-document.ts';
import { dropStream, STREAM } from './streams.ts';
import { ERASED, erasedKey, type KeptTrace, type TraceRings } from './traces.ts';

/** Stands for the answer of a key that has none: only the key can say whose it is. */
const NO_ANSWER: StoredAnswer = { session_id: '', response: '' };

/** What a kernel does after an erasure, so that its files have no byte of the deleted data. */
export type Scrub = () => Promise<void>;

/** Deletes the memories of an owner (`MemoryOwner`). */
export type ForgetMemories = (owner: string) => Promise<unknown>;

export function personStore(
  kernel: Kernel,
  rings: TraceRings,
  scrub: Scrub,
  forget: ForgetMemories = (owner) => kernel.step((tx) => tx.delete(MEMORIES, owner)),
): PersonStore {
  return {
    show: (of) => visit(kernel, rings, of, null),
    async erase(of) {
      const work = () => visit(kernel, rings, of, forget);
      const records = await (kernel.together?.(work) ?? work());
      await scrub();
      return records;
    },
  };
}

/**
 * Finds all data of a person or a platform's user, and deletes it if an erasure is wanted.
 * @param forget deletes the memories; null: nothing is deleted
 */
async function visit(
  kernel: Kernel,
  rings: TraceRings,
  of: PersonSelector,
  forget: ForgetMemories | null,
): Promise<PersonRecords> {
  const erases = forget !== null;
  const match = new PersonMatch(of);

  /** @returns the documents that belong to the person or user. */
  const take = async <T>(
    kind: Kind<T, unknown>,
    isTheirs: (doc: T, key: string) => boolean,
    drop?: (entry: Entry<T>) => Promise<unknown>,
  ): Promise<T[]> => {
    const found: T[] = [];
    for await (const entry of kernel.scan(kind)) {
      if (!isTheirs(entry.doc, entry.key)) continue;
      found.push(entry.doc);
      if (erases)
        await (drop?.(entry) ?? kernel.step((tx) => tx.delete(kind as Kind<never, unknown>, entry.key)));
    }
    return found;
  };
  const takeTraces = async (ring: Ring<KeptTrace>) => {
    const isTheirs = ({ trace }: KeptTrace) => match.trace(trace);
    if (!erases) return (await kernel.found(ring, { isFound: isTheirs, limit: ring.max })).length;
    return kernel.unlog(ring, isTheirs);
  };

  let summaries = 0;
  const sessions: PersonSession[] = [];
  for await (const { key: tag, doc } of kernel.scan(SESSION)) {
    const found = match.session(doc.session, await kernel.step((tx) => tx.items(SESSION, tag)));
    if (found === null) continue;
    sessions.push(match.shown(found));
    summaries += doc.summaries.length;
    if (erases) await eraseSession(kernel, match, doc, found);
  }
  const users = await take(GUARD_USER, (doc, key) =>
    match.guard(key, { ...doc, messages: hitsOf(doc.messages) }),
  );
  const answers = await take(KEY, ({ answer }, key) => match.answer(key, answer ?? NO_ANSWER));
  const links = await take(
    LINK,
    (link) => match.link(link),
    ({ doc }) => kernel.step((tx) => removeLink(tx, doc)),
  );
  const actions = await take(ACTION, ({ action }) => match.action(action));
  const inbox = await take(
    MESSAGE,
    ({ message }) => match.inbox(message),
    ({ doc }) =>
      kernel.step((tx) => {
        dropMessage(tx, doc);
        tx.put(ERASED, erasedKey(doc.message.id), { expires_at: tx.now + ERASED_MS });
        const tag = match.runsIn(doc.message);
        if (tag !== null) tx.delete(SESSION_CLAIM, tag);
      }),
  );
  await forget?.('person' in of ? of.person : `${of.platform}:${of.user_id}`);
  const traces = (await takeTraces(rings.answered)) + (await takeTraces(rings.refused));
  const streams = await take(
    STREAM,
    ({ record }) => match.stream(record),
    ({ doc }) => kernel.step((tx) => dropStream(tx, doc.record)),
  );
  const turns = await take(GUARD_TURNS, (_, tag) => match.guardTurns(tag));
  const others = {
    summaries,
    traces,
    streams: streams.length,
    answers: answers.length,
    seen_messages: (
      await take(SEEN, ({ user_id }, key) => {
        const [platform, message_id] = JSON.parse(key) as [string, string];
        return match.seenMessage(platform, message_id, user_id);
      })
    ).length,
    guard: users.length + turns.length,
    limits: (await take(LIMIT, (_, key) => match.limit(key))).length,
    budgets: (await take(BUDGET, (_, key) => match.budget(key))).length,
  };
  return {
    sessions: sessions.sort((a, b) => b.session.last_active_at - a.session.last_active_at),
    links: links.map(linkOf).sort((a, b) => (a.key < b.key ? -1 : 1)),
    actions: actions.sort((a, b) => b.serial - a.serial).map(({ action }) => action),
    inbox: inbox.sort((a, b) => b.serial - a.serial).map(({ message }) => message),
    others,
  };
}

/** Deletes a session or, if others wrote in it, what ties it to the person or user. */
function eraseSession(
  kernel: Kernel,
  match: PersonMatch,
  { session }: StoredSession,
  found: PersonSession,
): Promise<void> {
  const tag = tagOf(session);
  const theirs = new Set(found.turns.map(({ turn_id }) => turn_id));
  return kernel.step((tx) => {
    const stored = tx.get(SESSION, tag);
    if (stored === null) return;
    if (found.shared) {
      putSession(tx, { ...stored, session: match.untied(stored.session), summaries: [] });
      const left = tx.items(SESSION, tag).filter(({ turn_id }) => !theirs.has(turn_id));
      tx.rewrite(SESSION, tag, left);
      return;
    }
    dropSession(tx, stored.session);
    tx.delete(SESSION_CLAIM, tag);
    for (const name of [tag, stored.session.session_id])
      tx.put(ERASED, erasedKey(name), { expires_at: tx.now + ERASED_MS });
  });
}
