import { EXAMPLE } from '../../../plugins/names.ts';
import { systemClock } from '../../daemon/clock.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { InboxMessage } from '../../daemon/store/inbox.ts';
import type { Store } from '../../daemon/store/store.ts';
import type { Command, CommandCall } from '../command.ts';
import { channelNames } from '../completion/channel-words.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { expectChannel } from '../expect-channel.ts';
import { findInboxMessage } from '../find-inbox-message.ts';
import { stateInWords } from '../inbox-view.ts';
import { parseSince } from '../time-words.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'inbox retry',
  summary: 'Retry a failed message or all of them, or one that waits.',
  description:
    'A failed message begins anew with all its attempts and its full time, in its old place before later ones of its session. If the agent has answered it, the agent does not run again: the reply is sent, from the first part that the platform has not confirmed. A message that waits for its next attempt is tried now; if its platform is out of reach, the platform is probed now. A running daemon that has the channel takes the message up at once, otherwise the next one does when it starts. ID is as for `agentd inbox show`. With `--failed`, all failed messages begin anew. Exit code 1 if there is no such message, if the id means several, or if there is nothing to retry for that id.',
  args: [{ name: 'id', sentence: 'id of the message' }],
  options: [
    { flags: '--failed', sentence: 'all messages that have failed, instead of one' },
    {
      flags: '--since <time>',
      sentence: 'with --failed, only those that failed since then: `30m`, `2h`, `7d`, or an ISO 8601 time',
    },
    {
      flags: '--channel <name>',
      sentence: 'with --failed, only those of this channel',
      values: channelNames,
    },
  ],
  examples: [
    { line: 'agentd inbox retry 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Retries one message.' },
    {
      line: `agentd inbox retry --failed --since 2h --channel ${EXAMPLE.channel}`,
      does: 'Retries what has failed on one channel during the last two hours.',
    },
  ],
  json: true,
  run(call) {
    const { args, options } = call;
    const [id] = args;
    const { failed, since, channel } = options;
    if (failed === true) {
      if (id === undefined) return retryFailed(call);
      throw new CliError(EXIT.usage, '--failed retries all failed messages; give it no id');
    }
    if (since !== undefined || channel !== undefined)
      throw new CliError(EXIT.usage, '--since and --channel are for --failed');
    if (id === undefined)
      throw new CliError(EXIT.usage, 'name a message, or retry all failed ones with --failed');
    return retryOne(call, id);
  },
};

async function retryOne({ options, out }: CommandCall, id: string): Promise<number> {
  const { message, done } = await withStore(options, async (store) => {
    const found = await findInboxMessage(store.inbox, id);
    return { message: found, done: await retry(store, found) };
  });
  if (!done) throw nothingToRetry(message);
  out.data({ id: message.id, retried: true }, () => `${message.id}: ${whatNow(message)}`);
  return EXIT.ok;
}

async function retryFailed({ options, out }: CommandCall): Promise<number> {
  const filter = {
    ...(typeof options.channel === 'string' ? { platform: options.channel } : {}),
    ...(typeof options.since === 'string' ? { failed_since: timeOf(options.since) } : {}),
  };
  const ids = await withStore(options, (store) => store.inbox.retryFailed(filter)).catch(
    (error: unknown): string[] => {
      // No daemon has stored anything yet: nothing has failed.
      if (error instanceof StoreMissing) return [];
      throw error;
    },
  );
  if (ids.length === 0) await expectChannel(options, 'channel');
  out.data({ retried: ids.length, ids }, () => (ids.length === 0 ? '' : `${inNumber(ids.length)} anew`));
  if (ids.length === 0) out.note('No message has failed that fits.');
  return EXIT.ok;
}

/** A message that waits for a platform out of reach waits for its probe. */
async function retry({ inbox, outages }: Store, { id, state, platform }: InboxMessage): Promise<boolean> {
  const done = await inbox.retry(id);
  if (done && state === 'replied') await outages.hurry(platform);
  return done;
}

function timeOf(since: string): number {
  const time = parseSince(since, systemClock.now());
  if (time !== null) return time;
  throw new CliError(
    EXIT.usage,
    `--since takes a length of time such as 2h, or an ISO 8601 time, not '${since}'`,
  );
}

function inNumber(count: number): string {
  return count === 1 ? '1 message begins' : `${count} messages begin`;
}

function whatNow({ state, reply, session_id }: InboxMessage): string {
  if (state !== 'failed') return 'due now';
  if (reply === null) return 'begins anew';
  return session_id === null ? 'is sent again' : 'its reply is sent again';
}

function nothingToRetry(message: InboxMessage): CliError {
  const advice =
    message.state === 'done'
      ? 'A message that was answered is not answered again.'
      : 'Look again in a moment: `agentd inbox show` shows its state.';
  const state = stateInWords(message).replace(/^(answered|sent)$/, 'was $1');
  return new CliError(EXIT.no, `there is nothing to retry: the message ${message.id} ${state}`, advice);
}
