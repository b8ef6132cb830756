import { RecentMap } from '../../channel/recent-map.ts';

/** Maximum number of replies whose ids are remembered. */
const REPLIES_MAX = 1000;
/** Maximum number of messages of one reply whose ids are remembered. */
const IDS_MAX = 50;

/**
 * The platform's ids of the messages of a reply, from the moment when the platform has accepted them until the inbox
 * stores that the reply was sent.
 */
export class SentIds {
  readonly #ids = new RecentMap<string, string[]>(REPLIES_MAX);

  note(reply_id: string, sent_id: string): void {
    const ids = this.#ids.get(reply_id);
    if (ids === undefined) this.#ids.set(reply_id, [sent_id]);
    else if (ids.length < IDS_MAX) ids.push(sent_id);
  }

  /** Returns the ids, and forgets them. */
  take(reply_id: string): readonly string[] {
    const ids = this.#ids.get(reply_id) ?? [];
    this.#ids.delete(reply_id);
    return ids;
  }
}
