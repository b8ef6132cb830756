import type { PartsMemory } from '../../channel/reply-parts.ts';
import type { InboxStore } from '../store/inbox.ts';
import { messageIdOf } from './outgoing-reply.ts';

/** Stores with each message how many parts of its text were sent, so that they are not sent again after a restart. */
export function storedParts(inbox: InboxStore): PartsMemory {
  return {
    sent: (reply_id) => inbox.partsSent(messageIdOf(reply_id)),
    note: (reply_id, parts) => inbox.notePartsSent(messageIdOf(reply_id), parts),
  };
}
