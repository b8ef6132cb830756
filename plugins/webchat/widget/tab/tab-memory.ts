import { attempt, type Kept, keptIn, type Memory, OpenMemory, randomId } from '../talk/memory.ts';

/**
 * Stores the conversation of this tab in `sessionStorage`, so that it ends with the tab (`data-history="off"`). Loaded
 * by sites that want this.
 */
export class TabMemory extends OpenMemory implements Memory {
  readonly needsPerson = false;
  /** Id of this page. It is stored while the page exists. */
  readonly #page = randomId();
  /** Channel to the other pages of this site. */
  readonly #channel = attempt(() => new BroadcastChannel(this.name));

  async recall(): Promise<Kept | null> {
    const holder = attempt(() => sessionStorage.getItem(`${this.name} page`));
    if (holder !== this.#page) {
      const copied = holder !== null && (await this.#answers(holder));
      this.#answerForMyself();
      // If a tab is duplicated, the browser also copies its storage. The conversation belongs to the original.
      if (copied) return null;
    }
    return keptIn(attempt(() => sessionStorage.getItem(this.name)));
  }

  keep(kept: Kept): void {
    const text = this.serialize(kept);
    attempt(() => sessionStorage.setItem(this.name, text));
  }

  /** Nothing happens in other tabs: each has a conversation of its own. */
  follow(): void {}

  /** Whether the page that owns this storage still exists. */
  #answers(holder: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#hear((message) => {
        if (message === `${holder} here`) resolve(true);
      });
      this.#channel?.postMessage(holder);
      setTimeout(resolve, 150, false);
    });
  }

  #answerForMyself(): void {
    const name = `${this.name} page`;
    const hold = () => attempt(() => sessionStorage.setItem(name, this.#page));
    hold();
    addEventListener('pageshow', hold);
    addEventListener('pagehide', () => attempt(() => sessionStorage.removeItem(name)));
    this.#hear((message) => {
      if (message === this.#page) this.#channel?.postMessage(`${message} here`);
    });
  }

  #hear(take: (message: unknown) => void): void {
    if (this.#channel) this.#channel.onmessage = ({ data }) => take(data);
  }
}
