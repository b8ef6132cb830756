import { type OpenedAction, openAction } from '../daemon/admin/records.ts';
import type { Seal } from '../daemon/admin/sealing.ts';
import type { Action, TraceStore } from '../daemon/admin/store.ts';
import { printable } from '../daemon/admin/texts.ts';
import { type PersonView, personInWords, personView } from './record-views.ts';
import type { Column } from './render-table.ts';

/** An action as operators see it. */
export interface ActionView {
  action_id: string;
  time: number;
  finished_at: number | null;
  tool: string;
  /** Null if no encryption key decrypts it. */
  summary: string | null;
  arguments: unknown;
  outcome: OpenedAction['outcome'];
  status: number | null;
  attempts: number;
  confirmed: boolean;
  platform: string | null;
  user_id: string | null;
  session_id: string | null;
  /** The request that made the call, if it is known; null after TRACE_RETENTION_DAYS. */
  request_id?: string | null;
  person: PersonView | null;
  operator: string | null;
}

export function actionView(action: Action, now: number, seal: Pick<Seal, 'open'>): ActionView {
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
  { title: 'TOOL', json: 'tool' },
  { title: 'OUTCOME', json: 'outcome' },
  { title: 'STATUS', json: 'status', align: 'right' },
  { title: 'SESSION', json: 'session_id' },
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
  { json: 'platform' },
  { json: 'user_id' },
  { json: 'request_id' },
  { json: 'person' },
  { json: 'operator' },
  { json: 'finished_at', isTime: true },
];

/** The ids of the requests that made these calls, by action id. Calls without a trace are left out. */
export async function requestsOf(
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

function whom({ person, platform, user_id, operator }: ActionView): string {
  const by = operator === null ? '' : ` (by ${operator})`;
  if (person !== null) return printable(`${personInWords(person)}${by}`);
  return printable(user_id === null ? `nobody${by}` : `${user_id} of ${platform}${by}`);
}
