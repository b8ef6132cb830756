import { EXAMPLE } from '../../../plugins/names.ts';
import type { InboxMessage, Store } from '../../daemon/admin/store.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { type CliError, EXIT, failed, usageError } from '../cli-error.ts';
import { type CommandCall, defineCommand } from '../command.ts';
import { channelNames } from '../names/channel-words.ts';
import { parseSince } from '../names/typed-values.ts';
import { expectChannel } from '../names/who.ts';
import { findInboxMessage, stateInWords } from '../views/inbox-view.ts';
import { readStored, withStore } from '../with-store.ts';

export const command = defineCommand({
  description: [
    'A failed message starts again: its attempts are counted from 0, its time limit begins anew, and it returns to its place before later messages of its session. If it is answered together with other messages (COLLECT_MS), they start again, too. If the agent has already answered it, the agent does not run again: the reply is sent, starting at the first part that the platform has not confirmed. A message that is waiting for its next attempt is tried now. If it is waiting because its platform was unreachable, the daemon checks now whether the platform can be reached again.',
    'A running daemon that has the channel does this at once; otherwise the next daemon does it when it starts. ID is as for `agentd inbox show`. With `--failed`, all failed messages start again.',
    'Exit code 1 if there is no such message, if the id matches several, or if there is nothing to retry for that id.',
  ].join('\n\n'),
  args: { '[id]': 'id of the message' },
  options: {
    '--failed': 'all messages that have failed, instead of one',
    '--since <time>':
      'with --failed, only messages that failed since then: `30m`, `2h`, `7d`, or an ISO 8601 time',
    '--channel <name>': {
      sentence: 'with --failed, only messages of this channel',
      values: channelNames,
      isChannel: true,
    },
  },
  examples: {
    'agentd inbox retry 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Retries one message.',
    [`agentd inbox retry --failed --since 2h --channel ${EXAMPLE.channel}`]:
      'Retries the messages of one channel that have failed in the last two hours.',
  },
  json: true,
  run(call) {
    const { args, options } = call;
    const [id] = args;
    const { failed, since, channel } = options;
    if (failed === true) {
      if (id === undefined) return retryFailed(call);
      throw usageError('--failed retries all failed messages; it takes no id');
    }
    if (since !== undefined || channel !== undefined) throw usageError('--since and --channel need --failed');
    if (id === undefined) throw usageError('give the id of a message, or --failed for all failed messages');
    return retryOne(call, id);
  },
});

async function retryOne({ options, out }: CommandCall, id: string): Promise<number> {
  const { message, isDone } = await withStore(options, async (store) => {
    const found = await findInboxMessage(store, id, options);
    await noteAudit(store, { command: 'inbox retry', about: found.id });
    return { message: found, isDone: await retry(store, found) };
  });
  if (!isDone) throw nothingToRetry(message);
  out.data({ id: message.id, retried: true }, () => `${message.id}: ${effectOn(message)}`);
  return EXIT.ok;
}

async function retryFailed({ options, out }: CommandCall): Promise<number> {
  const { channel, since } = options;
  const filter = {
    ...(typeof channel === 'string' ? { platform: channel } : {}),
    ...(typeof since === 'string' ? { failed_since: parseSince(since, Date.now()) } : {}),
  };
  const { items: ids, none } = await readStored('No failed message matches.', () =>
    withStore(options, async (store) => {
      await noteAudit(store, { command: 'inbox retry', about: '--failed' });
      return store.inbox.retryFailed(filter);
    }),
  );
  if (ids.length === 0) await expectChannel(options, 'channel');
  out.data({ retried: ids.length, ids }, () =>
    ids.length === 0 ? '' : `${ids.length} ${ids.length === 1 ? 'message starts' : 'messages start'} again`,
  );
  if (ids.length === 0) out.note(none);
  return EXIT.ok;
}

/** Retries a message. If its reply waits for an unreachable platform, the platform is probed now. */
async function retry({ inbox, outages }: Store, { id, state, platform }: InboxMessage): Promise<boolean> {
  const isDone = await inbox.retry(id);
  if (isDone && state === 'replied') await outages.hurry(platform);
  return isDone;
}

function effectOn({ state, reply, session_id }: InboxMessage): string {
  if (state !== 'failed') return 'due now';
  if (reply === null) return 'starts again';
  return session_id === null ? 'is sent again' : 'its reply is sent again';
}

function nothingToRetry(message: InboxMessage): CliError {
  const advice =
    message.state === 'done'
      ? 'A message that was answered is not answered again.'
      : 'Look again in a moment: `agentd inbox show` shows its state.';
  const state = stateInWords(message).replace(/^(answered|sent)$/, 'was $1');
  return failed(`there is nothing to retry: the message ${message.id} ${state}`, advice);
}
