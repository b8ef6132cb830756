import type { listMemories, PersonDesk, PersonRecords } from '../../daemon/admin/records.ts';
import type { Who } from '../../daemon/admin/who.ts';
import { whoInWords } from '../names/who.ts';
import { shownIds, withShortIds } from '../names/whole-id.ts';
import type { Column, Output } from '../output.ts';
import { ACTION_COLUMNS, type ActionView, actionView } from './action-view.ts';
import { type ListedMessage, MESSAGE_COLUMNS } from './inbox-view.ts';
import { LINK_COLUMNS, linkView } from './link-view.ts';
import { MEMORY_COLUMNS } from './memory-view.ts';
import { namesOf, SESSION_COLUMNS, withState } from './session-view.ts';

/** Maximum number of records of one kind that the summary lists. */
const LISTED_MAX = 10;

/** A message of this person: the heading names the person. */
const INBOX_COLUMNS = MESSAGE_COLUMNS.filter(({ title }) => title !== 'ID' && title !== 'PERSON');

type Memories = Awaited<ReturnType<typeof listMemories>>;

/**
 * What is stored about a person, as tables for a terminal: the first records of each kind, without their texts, and how
 * many there are. The whole records fill many screens.
 */
export async function summarizePerson(
  out: Output,
  who: Who,
  { sessions, links, actions, inbox, others }: PersonRecords,
  memories: Memories,
  { store, seal, settings }: PersonDesk,
): Promise<string> {
  const now = Date.now();
  const shortSessions = await shownIds(
    store,
    out,
    'session',
    sessions.map(({ session }) => session.session_id),
  );
  const findName = namesOf(sessions.map(({ session }) => session));
  const section = <T>(title: string, columns: readonly Column<T>[], items: readonly T[]) =>
    items.length === 0 ? [] : [renderSection(out, title, columns, items)];
  const parts = [
    ...section(
      'Sessions',
      SESSION_COLUMNS,
      sessions.map(({ session }) => ({
        ...withState(session, now, settings),
        short_id: shortSessions.get(session.session_id),
      })),
    ),
    ...section(
      'Links',
      LINK_COLUMNS,
      links.map((link) => linkView(link, now, seal, settings)),
    ),
    ...section('Memories', MEMORY_COLUMNS, withShortIds(memories)),
    ...section<ActionView>(
      'Actions',
      ACTION_COLUMNS,
      actions.map((action) => ({
        ...actionView(action, now, seal),
        name: findName(action.person),
        short_session: shortSessions.get(action.session_id ?? ''),
      })),
    ),
    ...section<ListedMessage>(
      'Inbox',
      INBOX_COLUMNS,
      inbox.map((message) => ({ ...message, isFirst: true, now })),
    ),
    ...describeOthers(others),
  ];
  if (parts.length === 0) return `Nothing is stored about ${whoInWords(who)}.\n`;
  const name = 'person' in who ? findName(who.person) : null;
  const heading =
    name === null || name === whoInWords(who) ? whoInWords(who) : `${name} (sub ${whoInWords(who)})`;
  return [`${heading}\n`, ...parts, 'The whole records, with their texts: add --json.\n'].join('\n');
}

function renderSection<T>(out: Output, title: string, columns: readonly Column<T>[], items: readonly T[]) {
  const more = items.length - LISTED_MAX;
  const rest = more > 0 ? `… and ${more} more\n` : '';
  return `${title}: ${items.length}\n${out.table(columns, items.slice(0, LISTED_MAX))}${rest}`;
}

/** Kinds of which only the number is known. */
function describeOthers(others: PersonRecords['others']): string[] {
  const counts = Object.entries(others).flatMap(([kind, count]) =>
    count > 0 ? [`${kind.replaceAll('_', ' ')} ${count}`] : [],
  );
  return counts.length === 0 ? [] : [`Also stored: ${counts.join(', ')}\n`];
}
