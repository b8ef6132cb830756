import type { GuardedMessage } from '../../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import type { NewInboxMessage, ScreenedMessage } from '../../../src/daemon/store/inbox/inbox.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';

/** A message that a platform delivered, from the user u1 in the session `chat:s`. */
export function anArrival(
  message: Partial<NewInboxMessage> = {},
  guarded: Partial<GuardedMessage> = {},
): ScreenedMessage {
  const session_id = 'chat:s';
  const arrived = anInboxMessage({ session_id, ...message }) as ScreenedMessage['message'];
  return {
    message: arrived,
    guarded: {
      user: guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null }),
      session_id,
      text: 'hash',
      sent_at: null,
      ...guarded,
      message_id: arrived.message_id,
    },
    notice: anInboxMessage({ session_id: null, queue: 'notices', message: null }),
  };
}
