import type { GuardList, Store } from '../../daemon/admin/store.ts';
import { defineCommand } from '../command.ts';
import { channelInWords, shortChannel } from '../names/channel-titles.ts';
import { durationInWords, isoTime } from '../names/typed-values.ts';
import { type Column, WIDE_OPTION } from '../output.ts';
import { personView } from '../views/person-view.ts';
import { namesOf } from '../views/session-view.ts';
import { readStored, withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Lists the users whom the guard blocks (their circuit is open), with the reason (`rate_limit` or `repetition`), the number of blocked messages and the time left; then sessions that have reached their limit of turns and had messages blocked, with the time until they end. At most 1000 of each, newest first. `agentd explain` explains a single message. Works whether the daemon is running or not.',
  options: WIDE_OPTION,
  examples: {
    'agentd guard list': 'Shows who is blocked, why, and for how long.',
    'agentd guard list --json': 'Prints the same as a JSON array.',
  },
  json: true,
  async run({ options, out }) {
    const { items, none } = await readStored('The loop guard blocks nobody.', () =>
      withStore(options, async (store) => withNames(listBlocks(await store.guard.list(), Date.now()), store)),
    );
    out.data(items.map(blockView), () => out.table(BLOCK_COLUMNS, items));
    if (items.length === 0) out.note(none);
  },
});

type Circuit = GuardList['circuits'][number];
type Limited = GuardList['sessions'][number];

/** What the guard blocks: a user while a circuit is open, or a session that has reached its limit of turns. */
export type Block =
  | ({ kind: 'circuit'; seconds_left: number; name?: string | null } & Circuit)
  | ({ kind: 'session'; seconds_left: number; reason: 'turn_limit' } & Limited);

function listBlocks({ circuits, sessions }: GuardList, now: number): Block[] {
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

/** Adds the names of the people who are blocked, as far as their sessions know them. */
async function withNames(blocks: readonly Block[], { sessions }: Pick<Store, 'sessions'>): Promise<Block[]> {
  const among = blocks.flatMap((block) =>
    block.kind === 'circuit' && block.person !== null
      ? [{ platform: block.platform, user_id: block.user_id }]
      : [],
  );
  if (among.length === 0) return [...blocks];
  const findName = namesOf(await sessions.list({ among, limit: READ_MAX }));
  return blocks.map((block) =>
    block.kind === 'circuit' ? { ...block, name: findName(block.person) } : block,
  );
}

/** Maximum number of sessions that are read for names. */
const READ_MAX = 10_000;

const BLOCK_COLUMNS: readonly Column<Block>[] = [
  {
    title: 'CHANNEL',
    text: (block) => (block.kind === 'circuit' ? channelInWords(block.platform) : ''),
    short: (block) => (block.kind === 'circuit' ? shortChannel(block.platform) : ''),
  },
  { title: 'USER OR SESSION', text: who, narrow: 'wrap' },
  { title: 'REASON', text: ({ reason }) => reason, color: () => 'red' },
  { title: 'COUNT', text: count, align: 'right' },
  { title: 'BLOCKED', text: ({ blocked }) => String(blocked), align: 'right' },
  { title: 'TIME LEFT', text: ({ seconds_left }) => durationInWords(seconds_left) },
];

/** The JSON object of a block. Its members depend on its kind. */
function blockView(block: Block): object {
  if (block.kind === 'session') return { ...block, ends_at: isoTime(block.ends_at) };
  const { covers_from: _inner, name: _name, person, opened_at, open_until, ...rest } = block;
  return {
    ...rest,
    person: personView(person),
    opened_at: isoTime(opened_at),
    open_until: isoTime(open_until),
  };
}

function who(block: Block): string {
  if (block.kind === 'session') return block.session_id;
  const { user_id, person, address, name } = block;
  const known =
    person === null ? address && `at ${address}` : `signed in as ${name ?? personView(person)?.sub}`;
  return known ? `${user_id} (${known})` : user_id;
}

function count(block: Block): string {
  if (block.kind === 'session') return `${block.turns}/${block.max}`;
  return block.reason === 'rate_limit' ? `${block.count}/${block.max}` : String(block.count);
}
