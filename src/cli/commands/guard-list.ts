import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { BLOCK_COLUMNS, blocksOf, blockView } from '../guard-view.ts';
import { listFromStore } from '../with-store.ts';

export const command: Command = {
  name: 'guard list',
  summary: 'List the users and sessions that the loop guard blocks.',
  description:
    'Lists the users whom the guard blocks (their circuit is open), with the reason (`rate_limit` or `repetition`), the number of blocked messages and the time left; then sessions that have reached their limit of turns and had messages blocked, with the time until they end. At most 1000 of each, newest first. `agentd explain` explains a single message. Works whether the daemon is running or not.',
  examples: [
    { line: 'agentd guard list', does: 'Shows who is blocked, why, and for how long.' },
    { line: 'agentd guard list --json', does: 'Prints the same as a JSON array.' },
  ],
  json: true,
  async run({ options, out }) {
    const { items, none } = await listFromStore(options, 'The loop guard blocks nobody.', async (store) =>
      blocksOf(await store.guard.list(), Date.now()),
    );
    out.data(items.map(blockView), () => (items.length === 0 ? '' : out.table(BLOCK_COLUMNS, items)));
    if (items.length === 0) out.note(none);
    return EXIT.ok;
  },
};
