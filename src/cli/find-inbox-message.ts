import type { InboxMessage, InboxStore } from '../daemon/admin/store.ts';
import { printable } from '../daemon/admin/texts.ts';
import { failed } from './cli-error.ts';

/** How many ids the error names if an id matches several messages. */
const NAMED_MAX = 5;

/**
 * Finds a message of the inbox. The id may be the message's own id, or the platform's id with or without the channel's
 * name before it. Until the message is done, it may also be the id of its request or session.
 * @throws CliError (1) if no message matches, or more than one
 */
export async function findInboxMessage(inbox: InboxStore, id: string): Promise<InboxMessage> {
  const found = await inbox.search(id);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) {
    throw failed(
      `there is no message '${printable(id)}' in the inbox`,
      'Answered messages are kept for 7 days, failed ones for 30. List waiting and failed messages with `agentd inbox list`.',
    );
  }
  const ids = found.slice(0, NAMED_MAX).map((message) => message.id);
  throw failed(
    `'${printable(id)}' matches ${found.length} messages of the inbox`,
    `Use the id of one of them: ${ids.join(', ')}${found.length > ids.length ? ', …' : ''}.`,
  );
}
