import { RecentMap } from './recent-map.ts';

/** Maximum number of replies whose sent parts are remembered in this process. */
const REMEMBERED_MAX = 1000;

/** Stores how many parts of a reply were sent. */
export interface PartsMemory {
  sent(reply_id: string): Promise<number>;
  /** Resolves when the number is durable. */
  note(reply_id: string, parts: number): Promise<void>;
}

/** Sends replies as several messages (`ChannelScope.sendParts`). */
export class ReplyParts {
  readonly #memory: PartsMemory | null;
  /**
   * How many parts of a reply were sent. The count includes parts that were sent but could not be recorded in
   * `#memory`.
   */
  readonly #sent = new RecentMap<string, number>(REMEMBERED_MAX);
  readonly #underWay = new Map<string, Promise<void>>();

  /** @param memory null to remember parts in this process only */
  constructor(memory: PartsMemory | null = null) {
    this.#memory = memory;
  }

  send<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<unknown>,
  ): Promise<void> {
    // The daemon stops waiting for a slow attempt, and makes another while the first may still be running. The other
    // attempt then waits for the end of the first.
    const earlier = this.#underWay.get(reply_id);
    if (earlier) return earlier;
    const sending = this.#send(reply_id, parts, sendPart).finally(() => this.#underWay.delete(reply_id));
    this.#underWay.set(reply_id, sending);
    return sending;
  }

  async #send<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<unknown>,
  ): Promise<void> {
    const all = await parts();
    const from = await this.#countSent(reply_id, all.length);
    for (const [at, part] of all.slice(from).entries()) {
      await sendPart(part, from + at);
      await this.#note(reply_id, from + at + 1, all.length);
    }
  }

  async #countSent(reply_id: string, parts: number): Promise<number> {
    const here = this.#sent.get(reply_id) ?? 0;
    const durable = parts > 1 ? await this.#memory?.sent(reply_id) : undefined;
    return Math.max(here, durable ?? 0);
  }

  async #note(reply_id: string, sent: number, parts: number): Promise<void> {
    this.#sent.set(reply_id, sent);
    // After the last part, the inbox itself stores that the whole reply was sent.
    if (sent < parts) await this.#memory?.note(reply_id, sent);
  }
}
