import { storeMessage } from '../inbox/inbox-document.ts';
import type { Tx } from '../kernels/kernel.ts';

/** A user of a platform, and what became of the user's link. */
export interface NewLinkNotice {
  /** Id of the message of the inbox. */
  id: string;
  platform: string;
  user_id: string;
  what: 'ended' | 'replaced';
}

/**
 * Stores a text for a user of a platform whose link was ended or replaced where no channel runs, as `agentd link remove`
 * does (agentd-identity(7), "Links"), in the step that changes the link. It has no token and no data about a person
 * apart from the user's id. Its words and the private chat of the user are found when it is sent.
 */
export function storeNotice(tx: Tx, { id, platform, user_id, what }: NewLinkNotice): void {
  storeMessage(tx, {
    ...{ id, platform, user_id, request_id: id, sent_at: tx.now },
    ...{ queue: `${platform}/link ${user_id}`, session_id: null, message_id: null, message: null },
    ...{ reply_to: {}, reply: '', link_change: what },
    is_hint: true,
  });
}
