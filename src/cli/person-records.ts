import { systemClock } from '../daemon/clock.ts';
import { decodeToken } from '../daemon/identity/decode-token.ts';
import { personKey } from '../daemon/identity/identity.ts';
import { openAdministratorSeal } from '../daemon/identity/open-seal.ts';
import type { Seal } from '../daemon/identity/seal.ts';
import type { StoredTurn } from '../daemon/session/session.ts';
import { openTurnText } from '../daemon/session/turn-texts.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { Memory, MemoryStore } from '../daemon/store/memories.ts';
import {
  countRecords,
  type PersonRecords,
  type PersonSelector,
  type PersonStore,
} from '../daemon/store/persons.ts';
import type { Store } from '../daemon/store/store.ts';
import { ACTION_COLUMNS, actionView } from './action-view.ts';
import { failed } from './cli-error.ts';
import { jsonOf } from './column.ts';
import type { OptionValues } from './command.ts';
import { unknownUser } from './expect-channel.ts';
import { MESSAGE_DETAILS } from './inbox-view.ts';
import { LINK_COLUMNS, linkView } from './link-view.ts';
import { MEMORY_COLUMNS } from './memory-view.ts';
import { SESSION_DETAILS, turnView, withState } from './session-view.ts';
import type { Who } from './who.ts';
import { ownerOf } from './with-memories.ts';
import { withStore } from './with-store.ts';

/**
 * Limit for a list of all links, larger than the number of links in any store. All links are listed, because only the
 * unsealed token of a link shows to whom the link belongs.
 */
const LINKS_MAX = 10_000_000;

/** The data and functions that the commands about one person use. */
export interface PersonDesk {
  store: Store;
  persons: PersonStore;
  selector: PersonSelector;
  /** Null if MEMORY_BACKEND is `none`. */
  memories: MemoryStore | null;
  view(records: PersonRecords, memories: readonly Memory[]): Record<string, unknown>;
}

/** @throws CliError (1) if the store cannot look up the data of one person; otherwise the errors of `withStore`. */
export function withPerson<T>(
  who: Who,
  options: OptionValues,
  work: (desk: PersonDesk) => Promise<T>,
): Promise<T> {
  return withStore(
    options,
    async (store, settings) => {
      const { persons } = store;
      if (persons === null)
        throw failed(`the store ${store.description} cannot look up the data of one person`);
      const { seal } = await openAdministratorSeal(settings);
      const { openMemories } = await import('../daemon/store/open.ts');
      const memories = await openMemories(settings, store, { clock: systemClock, log: { debug() {} } });
      try {
        const selector = await selectorOf(who, store, seal);
        const view = (records: PersonRecords, kept: readonly Memory[]) =>
          recordsView(records, kept, seal, settings);
        return await work({ store, persons, selector, memories, view });
      } finally {
        if (memories !== store.memories) await memories?.close();
      }
    },
    'person',
  );
}

export async function memoriesOf(who: Who, { memories }: PersonDesk): Promise<Memory[]> {
  return (await memories?.list(ownerOf(who))) ?? [];
}

/**
 * Refuses an unknown channel, and an id that the channel does not recognize, if nothing is stored about the user. If
 * something is stored, it can still be shown and erased: its plugin may have been removed since.
 * @throws CliError (2) with the known channels, or with the form of an id
 */
export async function expectKnownUser(who: Who, options: OptionValues, desk: PersonDesk): Promise<void> {
  const unknown = await unknownUser(who, options);
  if (unknown === null) return;
  const found = countRecords(await desk.persons.show(desk.selector)) + (await memoriesOf(who, desk)).length;
  if (found === 0) throw unknown;
}

async function selectorOf(who: Who, { links }: Store, seal: Seal): Promise<PersonSelector> {
  if ('platform' in who) return who;
  const all = await links.list({ limit: LINKS_MAX });
  const isTheirs = (key: string, stored: string) => {
    const token = seal.open(stored, key);
    const claims = token === null ? null : decodeToken(token).claims;
    return claims && personKey(claims) === who.person;
  };
  const link_keys = all.filter(({ key, token }) => isTheirs(key, token)).map(({ key }) => key);
  return { ...who, link_keys };
}

/** The records of a person as `--json` prints them, without tokens. */
function recordsView(
  { sessions, links, actions, inbox, others }: PersonRecords,
  memories: readonly Memory[],
  seal: Seal,
  settings: Settings,
): Record<string, unknown> {
  const now = systemClock.now();
  return {
    sessions: sessions.map(({ session, turns, shared }) => ({
      ...jsonOf(SESSION_DETAILS, { ...withState(session, now, settings), stored: turns }),
      turns: turns.map((turn) => ({ ...turnView(turn), ...unsealedParts(turn, seal) })),
      shared,
    })),
    links: links.map((link) => jsonOf(LINK_COLUMNS, linkView(link, now, seal, settings))),
    memories: memories.map((memory) => jsonOf(MEMORY_COLUMNS, memory)),
    actions: actions.map((action) => jsonOf(ACTION_COLUMNS, actionView(action, now, seal))),
    inbox: inbox.map((message) =>
      jsonOf(MESSAGE_DETAILS, { ...message, outage: undefined, isFirst: true, now, settings }),
    ),
    others,
  };
}

/** The sealed parts of a turn: what its tools answered, and the state of the runtime. They may have personal data. */
function unsealedParts(turn: StoredTurn, seal: Pick<Seal, 'open'>): { calls?: unknown; state?: unknown } {
  return {
    ...(turn.calls === undefined ? {} : { calls: openTurnText(seal, turn, 'calls') ?? null }),
    ...(turn.state === undefined ? {} : { state: openTurnText(seal, turn, 'state') ?? null }),
  };
}
