import type { Pending } from './deliver.ts';

/** One line of the transcript. `at` is in ms since the epoch; entries of an older script have none. */
export type Entry =
  | { id: number; from: 'visitor'; text: string; at?: number; undelivered?: Pending | undefined }
  | { id: number; from: 'agent'; text: string; at?: number; tools: Tool[]; state: AgentState }
  | { id: number; from: 'widget'; text: string; at?: number };

export type AgentState = 'writing' | 'done' | 'stopped' | 'interrupted';

export interface Tool {
  name: string;
  status: 'started' | 'completed' | 'failed';
}

/** Why the last message has no answer, and what the visitor can do. */
export interface Trouble {
  text: string;
  /** `again`: try again, from `at` on; `anew`: begin a new conversation; `edit`: change the message. */
  remedy: 'again' | 'anew' | 'edit';
  /** ms since the epoch */
  at: number;
  /** The widget tries again by itself once the service can be reached. */
  automatic: boolean;
}

/** What a conversation needs to go on after a page load. The token is never a part of it. */
export interface Kept {
  /** The visitor as the service knows them; made up where the site gives none. */
  user_id: string;
  session_id: string | null;
  /** Whose conversation it is; null while nobody was signed in. */
  person: string | null;
  entries: Entry[];
  /** The message that has no answer yet. */
  pending: Pending | null;
  /** Why it has none; null while it is on its way. */
  trouble: Trouble | null;
  open: boolean;
}

/** Entries that are kept over page loads, and what they may take, characters. */
const MAX_ENTRIES = 60;
const MAX_SIZE = 400_000;

/** Keeps the conversation of this tab in `sessionStorage`: it ends with the tab, and no other tab reads it. */
export class Memory {
  readonly #name: string;
  /** Of this page; in the storage while the page lives. */
  readonly #page = randomId();
  /** To the other pages of this site. */
  readonly #channel: BroadcastChannel | null;

  /** @param base the service's address: widgets of two services on one site keep apart */
  constructor(base: string) {
    this.#name = `agentd-webchat ${base}`;
    this.#channel = attempt(() => new BroadcastChannel(this.#name));
  }

  /**
   * What this tab kept, or null. A browser copies the storage into a duplicated tab: then the page it was
   * copied from is alive and says so, and this tab begins anew.
   */
  async recall(): Promise<Kept | null> {
    const holder = attempt(() => sessionStorage.getItem(`${this.#name} page`));
    if (holder !== this.#page) {
      const copied = holder !== null && (await this.#answers(holder));
      this.#answerForMyself();
      if (copied) return null;
    }
    const kept: unknown = attempt(() => JSON.parse(sessionStorage.getItem(this.#name) ?? 'null'));
    return isKept(kept) ? kept : null;
  }

  keep(kept: Kept): void {
    let text: string;
    let most = MAX_ENTRIES;
    do {
      text = JSON.stringify({ ...kept, entries: kept.entries.slice(-most) });
      most = Math.floor(most / 2);
    } while (text.length > MAX_SIZE && most > 0);
    attempt(() => sessionStorage.setItem(this.#name, text));
  }

  /** Is the page that holds this storage alive? */
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
    const name = `${this.#name} page`;
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

/** 128 random bits; also on pages without a secure origin, where there is no `crypto.randomUUID`. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function isKept(value: unknown): value is Kept {
  const kept = value as Partial<Kept> | null;
  return typeof kept?.user_id === 'string' && Array.isArray(kept.entries);
}

/** A browser may deny storage, or have no room: then the conversation lives as long as its page. */
function attempt<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}
