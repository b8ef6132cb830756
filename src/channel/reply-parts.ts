/** Replies whose beginning is remembered; of more, the oldest are forgotten. */
const REMEMBERED_MAX = 1000;

/**
 * Sends replies that a platform takes in several messages; see `ChannelScope.sendParts`. What went out is
 * remembered in this process alone: after a restart a reply begins anew.
 */
export class ReplyParts {
  /** How many parts of a reply went out; the latest last. */
  readonly #sent = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<void>>();

  send<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<void>,
  ): Promise<void> {
    // The daemon gives up on what takes too long, and comes again while it may still be under way.
    const earlier = this.#underWay.get(reply_id);
    if (earlier) return earlier;
    const sending = this.#send(reply_id, parts, sendPart).finally(() => this.#underWay.delete(reply_id));
    this.#underWay.set(reply_id, sending);
    return sending;
  }

  async #send<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<void>,
  ): Promise<void> {
    const all = await parts();
    const from = this.#sent.get(reply_id) ?? 0;
    for (const [at, part] of all.slice(from).entries()) {
      await sendPart(part, from + at);
      this.#note(reply_id, from + at + 1);
    }
  }

  #note(reply_id: string, sent: number): void {
    this.#sent.delete(reply_id);
    this.#sent.set(reply_id, sent);
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > REMEMBERED_MAX && oldest !== undefined) this.#sent.delete(oldest);
  }
}
