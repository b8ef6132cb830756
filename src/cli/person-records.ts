import {
  countRecords,
  listMemories,
  openTurn,
  type PersonDesk,
  type PersonRecords,
  withPersonDesk,
} from '../daemon/admin/records.ts';
import type { Memory } from '../daemon/admin/store.ts';
import type { Who } from '../daemon/admin/who.ts';
import { failed } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { unknownUser } from './names/who.ts';
import { toJson } from './output.ts';
import { ACTION_COLUMNS, type ActionView, actionView } from './views/action-view.ts';
import { MESSAGE_DETAILS, type ShownMessage } from './views/inbox-view.ts';
import { LINK_COLUMNS, linkView } from './views/link-view.ts';
import { type ListedMemory, MEMORY_COLUMNS } from './views/memory-view.ts';
import { SESSION_DETAILS, turnView, withState } from './views/session-view.ts';
import { withStore } from './with-store.ts';

/**
 * Runs the work with everything that is stored about a person.
 * @throws CliError (1) if the store cannot look up the data of one person; otherwise the errors of `withStore`.
 */
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
      return withPersonDesk(who, { store, persons, settings }, work);
    },
    'person',
  );
}

/**
 * Refuses an unknown channel, and an id that the channel does not recognize, if nothing is stored about the user. If
 * something is stored, it can still be shown and erased: its plugin may have been removed since.
 * @throws CliError (2) with the known channels, or with the form of an id
 */
export async function expectKnownUser(who: Who, options: OptionValues, desk: PersonDesk): Promise<void> {
  const unknown = await unknownUser(who, options);
  if (unknown === null) return;
  const found = countRecords(await desk.persons.show(desk.selector)) + (await listMemories(who, desk)).length;
  if (found === 0) throw unknown;
}

/** The records of a person as `--json` prints them, without tokens. */
export function recordsView(
  { sessions, links, actions, inbox, others }: PersonRecords,
  memories: readonly Memory[],
  { seal, settings }: PersonDesk,
): Record<string, unknown> {
  const now = Date.now();
  return {
    sessions: sessions.map(({ session, turns, shared }) => ({
      ...toJson(SESSION_DETAILS, { ...withState(session, now, settings), stored: turns }),
      turns: turns.map((turn) => ({ ...turnView(turn), ...openTurn(turn, seal) })),
      shared,
    })),
    links: links.map((link) => toJson(LINK_COLUMNS, linkView(link, now, seal, settings))),
    memories: memories.map((memory) => toJson<ListedMemory>(MEMORY_COLUMNS, memory)),
    actions: actions.map((action) => toJson<ActionView>(ACTION_COLUMNS, actionView(action, now, seal))),
    inbox: inbox.map((message) =>
      toJson<ShownMessage>(MESSAGE_DETAILS, { ...message, isFirst: true, now, settings }),
    ),
    others,
  };
}
