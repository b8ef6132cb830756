import { openAction } from '../../daemon/admin/records.ts';
import type { Seal } from '../../daemon/admin/sealing.ts';
import { type Action, type TraceStore, toQuestionId } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { channelInWords } from '../names/channel-titles.ts';
import type { CellColor, Column } from '../output.ts';
import { personInWords, personView } from './person-view.ts';

/**
 * An action as operators see it. `request_id`: the request that made the call; null if it is not known, or after
 * TRACE_RETENTION_DAYS.
 */
export type ActionView = ReturnType<typeof actionView> & {
  request_id?: string | null;
  /** How a table shows the id of the session, if not in full. */
  short_session?: string | undefined;
  /** The name of the person, if it is known. */
  name?: string | null;
};

export function actionView(action: Action, now: number, seal: Pick<Seal, 'open'>) {
  const { action_id, tool, status, attempt, platform, user_id, session_id, person, operator } = action;
  const opened = openAction(action, now, seal);
  return {
    action_id,
    time: action.started_at ?? action.created_at,
    finished_at: action.finished_at,
    tool,
    summary: opened.summary,
    arguments: opened.arguments,
    outcome: opened.outcome,
    status,
    attempts: attempt,
    confirmed: action.principal !== null && opened.wasSent,
    question_id: action.principal === null ? null : toQuestionId(action),
    platform,
    user_id,
    session_id,
    person: personView(person),
    operator,
  };
}

export const ACTION_COLUMNS: readonly Column<ActionView>[] = [
  { title: 'TIME', json: 'time', isTime: true },
  { title: 'FOR', value: whom, narrow: 'cut' },
  { title: 'TOOL', json: 'tool', isWide: true },
  {
    title: 'OUTCOME',
    json: 'outcome',
    short: ({ outcome, status }) => (status === null ? outcome : `${outcome} (${status})`),
    color: ({ outcome }) => OUTCOME_COLORS[outcome] ?? null,
  },
  { title: 'STATUS', json: 'status', align: 'right', isWide: true },
  { title: 'SESSION', json: 'session_id', text: (action) => action.short_session ?? action.session_id },
  {
    title: 'SUMMARY',
    json: 'summary',
    text: ({ summary }) => (summary === null ? '(cannot decrypt)' : printable(summary)),
    narrow: 'wrap',
  },
  { json: 'action_id' },
  { json: 'arguments' },
  { json: 'attempts' },
  { json: 'confirmed' },
  { json: 'question_id' },
  { json: 'platform' },
  { json: 'user_id' },
  { json: 'request_id' },
  { json: 'person' },
  { json: 'operator' },
  { json: 'finished_at', isTime: true },
];

const OUTCOME_COLORS: Readonly<Record<string, CellColor>> = {
  done: 'green',
  failed: 'red',
  unknown: 'yellow',
  started: 'yellow',
};

/** The ids of the requests that made these calls, by action id. Calls without a trace are left out. */
export async function findRequests(
  actions: readonly Action[],
  traces: Pick<TraceStore, 'find'>,
): Promise<ReadonlyMap<string, string>> {
  const sessions = new Set(actions.flatMap(({ session_id }) => session_id ?? []));
  const found = await Promise.all([...sessions].map((id) => traces.find(id)));
  const lines = found
    .flat()
    .flatMap(({ request_id, lines }) => lines.map((line) => ({ request_id, ...line })));
  return new Map(
    lines.flatMap(({ detail, request_id }) =>
      typeof detail?.action === 'string' ? [[detail.action, request_id]] : [],
    ),
  );
}

function whom({ person, name, platform, user_id, operator }: ActionView): string {
  const by = operator === null ? '' : ` (by ${operator})`;
  if (person !== null) return printable(`${name ?? personInWords(person)}${by}`);
  return printable(user_id === null ? `nobody${by}` : `${user_id} of ${channelInWords(platform ?? '')}${by}`);
}
