import { printable } from '../daemon/printable.ts';
import type { InboxMessage, InboxStore } from '../daemon/store/inbox.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';

/** Ids that are named where an id means several messages. */
const NAMED_MAX = 5;

/**
 * The one message of the inbox that an id means: its own, the platform's with or without the channel's name
 * before it, and, of one that is not done, its request's or session's.
 * @throws CliError (1) where there is none, or more than one.
 */
export async function findInboxMessage(inbox: InboxStore, id: string): Promise<InboxMessage> {
  const found = await inbox.search(id);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) {
    throw new CliError(
      EXIT.no,
      `there is no message '${printable(id)}' in the inbox`,
      'Answered ones are kept for 7 days, failed ones for 30. `agentd inbox list` shows those that wait or have failed.',
    );
  }
  const ids = found.slice(0, NAMED_MAX).map((message) => message.id);
  throw new CliError(
    EXIT.no,
    `'${printable(id)}' means ${found.length} messages of the inbox`,
    `Take the id of one: ${ids.join(', ')}${found.length > ids.length ? ', …' : ''}.`,
  );
}
