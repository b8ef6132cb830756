import type { Command } from '../command.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { findInboxMessage } from '../find-inbox-message.ts';
import { stateInWords } from '../inbox-view.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'inbox discard',
  summary: 'Delete a message of a platform: it is not answered any more.',
  description:
    'In whatever state, at once and without a question; of one that is being answered the reply is not sent. What waits behind it in its session goes on. A repeat of it by the platform is still recognised, and its traces stay for `agentd explain`. ID as for `agentd inbox show`. Exit code 1 when there is none, or when the id means several.',
  args: [{ name: 'id', sentence: 'id of the message', required: true }],
  examples: [
    { line: 'agentd inbox discard 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Deletes one message.' },
  ],
  json: true,
  async run({ args: [id = ''], options, out }) {
    const message = await withStore(options, async ({ inbox }) => {
      const found = await findInboxMessage(inbox, id);
      if (await inbox.discard(found.id)) return found;
      throw new CliError(EXIT.no, `the message ${found.id} is gone already`);
    });
    const { id: discarded } = message;
    out.data(
      { id: discarded, discarded: true },
      () => `discarded ${discarded} (it was: ${stateInWords(message)})`,
    );
    return EXIT.ok;
  },
};
