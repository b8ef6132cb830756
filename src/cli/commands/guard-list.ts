import { systemClock } from '../../daemon/clock.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { BLOCK_HEAD, type BlockView, blockRow, blockViews } from '../guard-view.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'guard list',
  summary: 'Show whom the loop guard blocks.',
  description:
    'Users whose circuit is open, with what opened it (rate_limit, repetition), how many messages it has blocked and the time left; then sessions at their limit of turns that messages were blocked in, with the time until they end. At most 1000 of each, the newest first. What became of a single message is told by `agentd explain`. Works with the daemon up or down.',
  examples: [
    { line: 'agentd guard list', does: 'Shows who is blocked, why, and for how long.' },
    { line: 'agentd guard list --json', does: 'Prints the same as a JSON array.' },
  ],
  json: true,
  async run({ options, out }) {
    let nobody = 'The loop guard blocks nobody.';
    const blocks = await withStore(options, async (store) =>
      blockViews(await store.guard.list(), systemClock.now()),
    ).catch((error: unknown): BlockView[] => {
      if (!(error instanceof StoreMissing)) throw error;
      // An empty list is no failure, but this may be the wrong STATE_DIR.
      nobody = error.message;
      return [];
    });
    out.data(blocks, () => (blocks.length === 0 ? '' : out.table(BLOCK_HEAD, blocks.map(blockRow))));
    if (blocks.length === 0) out.note(nobody);
    return EXIT.ok;
  },
};
