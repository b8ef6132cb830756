import type { InboxMessage } from '../../daemon/store/inbox.ts';
import type { Command } from '../command.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { findInboxMessage } from '../find-inbox-message.ts';
import { stateInWords } from '../inbox-view.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'inbox retry',
  summary: 'Have a failed message begin anew, or one that waits be tried now.',
  description:
    'A failed message gets all its attempts again, in its old place before later ones of its session; where the agent has answered it, its reply is sent again and nothing is run: one that the platform refused for a wrong token of its channel is not lost. It is taken up at once where a daemon runs that has its channel, else when one starts. ID as for `agentd inbox show`. Exit code 1 when there is none, when the id means several, and when there is nothing to try.',
  args: [{ name: 'id', sentence: 'id of the message', required: true }],
  examples: [
    { line: 'agentd inbox retry 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Tries one message again.' },
  ],
  json: true,
  async run({ args: [id = ''], options, out }) {
    const { message, done } = await withStore(options, async ({ inbox }) => {
      const message = await findInboxMessage(inbox, id);
      return { message, done: await inbox.retry(message.id) };
    });
    if (!done) throw nothingToTry(message);
    out.data({ id: message.id, retried: true }, () => `${message.id}: ${whatNow(message)}`);
    return EXIT.ok;
  },
};

function whatNow({ state, reply, session_id }: InboxMessage): string {
  if (state !== 'failed') return 'due now';
  if (reply === null) return 'begins anew';
  return session_id === null ? 'is sent again' : 'its reply is sent again';
}

function nothingToTry(message: InboxMessage): CliError {
  const advice =
    message.state === 'done'
      ? 'A message that was answered is not answered again.'
      : 'Look again in a moment: `agentd inbox show` tells where it stands.';
  return new CliError(
    EXIT.no,
    `there is nothing to try again: the message ${message.id} ${stateInWords(message)}`.replace(
      / (answered|sent)$/,
      ' was $1',
    ),
    advice,
  );
}
