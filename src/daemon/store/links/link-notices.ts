import { DAY_MS } from '../bounds.ts';
import type { NewInboxMessage } from '../inbox/inbox.ts';
import { storeMessage } from '../inbox/inbox-document.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps.ts';

/**
 * Notices for users of platforms whose link was ended or replaced where no channel runs, as `agentd link remove` does
 * (agentd-identity(7), "Links"). A notice is stored in the step that changes the link, and has no token and no data
 * about a person apart from the user's id. A daemon finds the private chat of the user and queues the text. A user has
 * at most one notice: the newest.
 */
export interface LinkNoticeStore {
  /** Notices for users of these platforms that nobody has settled, oldest first, at most `limit` for each platform. */
  waiting(platforms: readonly string[], limit: number): Promise<LinkNotice[]>;
  /**
   * Ends a notice, and stores its text in the inbox; atomic. False if the notice is gone, or if a newer one has replaced
   * it: then nothing is stored.
   * @param message null if the user cannot be told
   */
  settle(notice: LinkNotice, message: NewInboxMessage | null): Promise<boolean>;
}

/** A user of a platform, and what became of the user's link. */
export interface NewLinkNotice {
  platform: string;
  user_id: string;
  what: 'ended' | 'replaced';
}

export interface LinkNotice extends NewLinkNotice {
  /** Differs between notices of one user. */
  serial: number;
}

/** How long a notice waits for a daemon, ms. Later, the user has noticed it or never will. */
const WAITS_MS = DAY_MS;

export const LINK_NOTICE: Kind<LinkNotice & { expires_at: number }> = {
  name: 'link_notice',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ platform, serial }) => [[platform, serial]],
};

export function linkNoticeStore(kernel: Kernel): LinkNoticeStore {
  const step = stepsOf(kernel);
  return {
    waiting: step((tx, platforms, limit) =>
      platforms
        .flatMap((platform) => tx.first(LINK_NOTICE, platform, limit))
        .map(({ doc: { expires_at: _expires_at, ...notice } }) => notice),
    ),
    settle: step((tx, notice, message) => {
      if (tx.get(LINK_NOTICE, keyOf(notice))?.serial !== notice.serial) return false;
      tx.delete(LINK_NOTICE, keyOf(notice));
      if (message !== null) storeMessage(tx, message);
      return true;
    }),
  };
}

/** Stores a notice, in the step that ends or replaces the link. */
export function putNotice(tx: Tx, notice: NewLinkNotice): void {
  tx.put(LINK_NOTICE, keyOf(notice), { ...notice, serial: tx.serial(), expires_at: tx.now + WAITS_MS });
}

function keyOf({ platform, user_id }: NewLinkNotice): string {
  return JSON.stringify([platform, user_id]);
}
