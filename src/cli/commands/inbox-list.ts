import { systemClock } from '../../daemon/clock.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { InboxMessage, InboxState } from '../../daemon/store/inbox.ts';
import type { Outage } from '../../daemon/store/outages.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { attemptsInWords, inboxView, nextInWords, stateInWords } from '../inbox-view.ts';
import { wholeNumber } from '../number-option.ts';
import { relativeTime } from '../time-words.ts';
import { withStore } from '../with-store.ts';

const OPEN: readonly InboxState[] = ['waiting', 'running', 'replied'];

export const command: Command = {
  name: 'inbox list',
  summary: 'List the messages of platforms that wait or have failed, newest first.',
  description:
    'Shows the state of each, when it came, the runs of the agent and attempts to send that were begun, when the next one is due, and why the last one failed. Only `agentd inbox show` shows the texts. Works with the daemon up or down.',
  options: [
    { flags: '--failed', sentence: 'only those that have failed for good' },
    { flags: '--limit <n>', sentence: 'how many at most, 1 to 10000', default: 20 },
  ],
  examples: [
    { line: 'agentd inbox list', does: 'Shows the 20 latest messages that wait or have failed.' },
    { line: 'agentd inbox list --failed --json', does: 'Prints the failed ones as a JSON array.' },
  ],
  json: true,
  async run({ options, out }) {
    const limit = wholeNumber('--limit', options.limit, { min: 1, max: 10_000 });
    const failed = options.failed === true;
    const states: readonly InboxState[] = failed ? ['failed'] : [...OPEN, 'failed'];
    let none = failed ? 'No message has failed.' : 'No message waits, and none has failed.';
    const { found, outages } = await withStore(options, async (store) => ({
      // One more than is shown tells whether there are more.
      found: await store.inbox.list({ states, limit: limit + 1 }),
      outages: new Map((await store.outages.list()).map((outage) => [outage.platform, outage])),
    })).catch((error: unknown): { found: InboxMessage[]; outages: Map<string, Outage> } => {
      if (!(error instanceof StoreMissing)) throw error;
      // An empty list is no failure, but this may be the wrong STATE_DIR.
      none = error.message;
      return { found: [], outages: new Map() };
    });
    const messages = found.slice(0, limit);
    const now = systemClock.now();
    const first = firstOfQueues(messages);
    const view = (message: InboxMessage) => inboxView(message, outages.get(message.platform));
    const rows = messages.map((message) => [
      message.id,
      message.platform,
      message.message?.user_id ?? '',
      stateInWords(message),
      out.terminal ? relativeTime(message.received_at, now) : view(message).received_at,
      attemptsInWords(message),
      nextInWords(message, now, first.has(message), outages.get(message.platform)),
      message.failure ?? '',
    ]);
    const head = ['ID', 'CHANNEL', 'USER', 'STATE', 'RECEIVED', 'ATTEMPTS', 'NEXT', 'LAST FAILURE'];
    out.data(messages.map(view), () => (rows.length === 0 ? '' : out.table(head, rows)));
    if (found.length > limit) out.note(`There are more than these ${limit}; --limit shows more.`);
    if (messages.length === 0) out.note(none);
    return EXIT.ok;
  },
};

/** The oldest open message of each queue: those behind it wait for it, whatever they are due. */
function firstOfQueues(newestFirst: readonly InboxMessage[]): Set<InboxMessage> {
  const first = new Map<string, InboxMessage>();
  for (const message of newestFirst) if (message.ended_at === null) first.set(message.queue, message);
  return new Set(first.values());
}
