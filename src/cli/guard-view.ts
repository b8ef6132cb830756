import type { GuardList } from '../daemon/admin/store.ts';
import type { Column } from './column.ts';
import { durationInWords } from './duration.ts';
import { personView } from './session-view.ts';
import { isoTime } from './time-words.ts';

type Circuit = GuardList['circuits'][number];
type Limited = GuardList['sessions'][number];

/** What the guard blocks: a user while a circuit is open, or a session that has reached its limit of turns. */
export type Block =
  | ({ kind: 'circuit'; seconds_left: number } & Circuit)
  | ({ kind: 'session'; seconds_left: number; reason: 'turn_limit' } & Limited);

export function blocksOf({ circuits, sessions }: GuardList, now: number): Block[] {
  const left = (until: number) => Math.max(0, Math.ceil((until - now) / 1000));
  return [
    ...circuits.map((circuit) => ({
      kind: 'circuit' as const,
      ...circuit,
      seconds_left: left(circuit.open_until),
    })),
    ...sessions.map((session) => ({
      kind: 'session' as const,
      ...session,
      reason: 'turn_limit' as const,
      seconds_left: left(session.ends_at),
    })),
  ];
}

export const BLOCK_COLUMNS: readonly Column<Block>[] = [
  { title: 'CHANNEL', text: (block) => (block.kind === 'circuit' ? block.platform : '') },
  { title: 'USER OR SESSION', text: who, narrow: 'wrap' },
  { title: 'REASON', text: ({ reason }) => reason },
  { title: 'COUNT', text: count, align: 'right' },
  { title: 'BLOCKED', text: ({ blocked }) => String(blocked), align: 'right' },
  { title: 'TIME LEFT', text: ({ seconds_left }) => durationInWords(seconds_left) },
];

/** The JSON object of a block. Its members depend on its kind. */
export function blockView(block: Block): object {
  if (block.kind === 'session') return { ...block, ends_at: isoTime(block.ends_at) };
  const { covers_from: _inner, person, opened_at, open_until, ...rest } = block;
  return {
    ...rest,
    person: personView(person),
    opened_at: isoTime(opened_at),
    open_until: isoTime(open_until),
  };
}

function who(block: Block): string {
  if (block.kind === 'session') return block.session_id;
  const { user_id, person, address } = block;
  const known = person === null ? address && `at ${address}` : `signed in as ${personView(person)?.sub}`;
  return known ? `${user_id} (${known})` : user_id;
}

function count(block: Block): string {
  if (block.kind === 'session') return `${block.turns}/${block.max}`;
  return block.reason === 'rate_limit' ? `${block.count}/${block.max}` : String(block.count);
}
