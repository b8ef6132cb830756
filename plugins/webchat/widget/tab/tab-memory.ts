import { attempt, type Kept, keptIn, type Memory, randomId, StoredMemory } from '../talk/memory.ts';

/**
 * Stores the conversation of this tab in `sessionStorage`, so that it ends with the tab (`data-history="off"`). Loaded
 * by sites that want this.
 *
 * If a tab is duplicated, the browser also copies its storage, but the conversation belongs to the original. So the
 * storage names its page, and that page holds a lock as long as it exists. A page that finds the name of another one
 * has a copy if that one still exists. Otherwise, the browser has restored a tab that ended without notice.
 */
export class TabMemory extends StoredMemory implements Memory {
  readonly needsPerson = false;
  /** The id of this page, and the name of its lock. */
  readonly #page = `${this.name} ${randomId()}`;
  #release: (() => void) | null = null;

  constructor(base: string) {
    super(base);
    addEventListener('pagehide', () => {
      attempt(() => sessionStorage.removeItem(this.#holderKey));
      this.#release?.();
      this.#release = null;
    });
  }

  async recall(): Promise<Kept | null> {
    const holder = attempt(() => sessionStorage.getItem(this.#holderKey));
    const isCopy = holder !== null && holder !== this.#page && (await exists(holder));
    if (this.#release === null) await this.#hold();
    attempt(() => sessionStorage.setItem(this.#holderKey, this.#page));
    return isCopy ? null : keptIn(attempt(() => sessionStorage.getItem(this.name)));
  }

  keep(kept: Kept): void {
    this.noteOpen(kept.open);
    const text = this.serialize(kept);
    attempt(() => sessionStorage.setItem(this.name, text));
  }

  /** Nothing happens in other tabs: each has a conversation of its own. */
  follow(): void {}

  get #holderKey(): string {
    return `${this.name} page`;
  }

  #hold(): Promise<void> {
    return new Promise((resolve) => {
      const hold = () =>
        new Promise<void>((release) => {
          this.#release = release;
          resolve();
        });
      if ('locks' in navigator) navigator.locks.request(this.#page, hold).catch(() => resolve());
      else resolve();
    });
  }
}

/** Whether the page exists. A page without a secure origin cannot know, because it has no locks; it assumes so. */
async function exists(page: string): Promise<boolean> {
  if (!('locks' in navigator)) return true;
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === page);
}
