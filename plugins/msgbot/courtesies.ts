/** Of one chat within the window: a greeting, a hint. More would answer a flood with a flood. */
const MAX = 5;
const WINDOW_MS = 60_000;
/** Chats that are counted at once; beyond it, counting begins anew. */
const CHATS_MAX = 10_000;

/** How many texts a chat was given that nobody asked the agent for. The loop guard sees only what the agent gets. */
export class Courtesies {
  readonly #now: () => number;
  readonly #chats = new Map<string, { since: number; count: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** May this chat have one more? It is counted. */
  allow(chat: string): boolean {
    const now = this.#now();
    const counted = this.#chats.get(chat);
    if (counted && now - counted.since < WINDOW_MS) return ++counted.count <= MAX;
    if (this.#chats.size >= CHATS_MAX) this.#chats.clear();
    this.#chats.set(chat, { since: now, count: 1 });
    return true;
  }
}
