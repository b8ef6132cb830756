import type { InboxMessage, InboxState } from '../../daemon/admin/store.ts';
import { defineCommand } from '../command.ts';
import { limitOption } from '../names/list-options.ts';
import { shownIds } from '../names/whole-id.ts';
import { WIDE_OPTION } from '../output.ts';
import { MESSAGE_COLUMNS } from '../views/inbox-view.ts';
import { signedInAs } from '../views/session-view.ts';
import { printStored, withStore } from '../with-store.ts';

const OPEN: readonly InboxState[] = ['waiting', 'running', 'replied'];

const LIMIT = limitOption('messages', { max: 10_000, usual: 20 });

export const command = defineCommand({
  description:
    'Shows the state of each message, when it arrived, how many agent runs and attempts to send were started, when the next one is due, and why the last one failed. Only `agentd inbox show` shows the texts. Works whether the daemon is running or not.',
  options: {
    '--failed': 'only messages that have failed permanently',
    ...LIMIT.record,
    ...WIDE_OPTION,
  },
  examples: {
    'agentd inbox list': 'Shows the latest 20 messages that are waiting or have failed.',
    'agentd inbox list --failed --json': 'Prints the failed messages as a JSON array.',
  },
  json: true,
  async run({ options, out }) {
    const limit = LIMIT.read(options);
    const isFailed = options.failed === true;
    const states: readonly InboxState[] = isFailed ? ['failed'] : [...OPEN, 'failed'];
    const none = isFailed ? 'No message has failed.' : 'No message is waiting, and none has failed.';
    const read = () =>
      withStore(options, async (store) => {
        const messages = await store.inbox.list({ states, limit: limit + 1 });
        const outages = await store.outages.list();
        const first = firstOfQueues(messages);
        const ids = messages.map(({ id }) => id);
        const shown = await shownIds(store, out, 'message', ids);
        const sessions = await Promise.all(
          messages.map(({ session_id }) => session_id && store.sessions.find(session_id)),
        );
        const now = Date.now();
        return messages.map((message, index) => ({
          ...message,
          name: sessions[index] ? signedInAs(sessions[index]) : null,
          outage: outages.find(({ platform }) => platform === message.platform),
          isFirst: first.has(message),
          now,
          short_id: shown.get(message.id),
        }));
      });
    await printStored(out, MESSAGE_COLUMNS, { none, limit, read });
  },
});

/** The oldest open message of each queue. The messages after it wait for it, even if they are due. */
function firstOfQueues(newestFirst: readonly InboxMessage[]): Set<InboxMessage> {
  const first = new Map<string, InboxMessage>();
  for (const message of newestFirst) if (message.ended_at === null) first.set(message.queue, message);
  return new Set(first.values());
}
