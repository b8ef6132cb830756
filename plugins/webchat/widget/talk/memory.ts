import type { Pending } from './deliver.ts';
import { hash } from './hash.ts';
import type { Entry } from './transcript.ts';
import type { Trouble } from './trouble.ts';

/** The data with which a conversation continues after a page load. It never contains the token. */
export interface Kept {
  /** The visitor's id, for the service. The widget generates it if the site provides none. */
  user_id: string;
  session_id: string | null;
  /** The person of the conversation. Null if nobody was signed in. */
  person: string | null;
  entries: Entry[];
  /** The message that has no answer yet. */
  pending: Pending | null;
  /** Why the message has no answer. Null while the message is being answered. */
  trouble: Trouble | null;
  open: boolean;
}

/** @param user_id the site's id for the visitor; null if it has none */
export function emptyConversation(user_id: string | null, open: boolean): Kept {
  const id = user_id ?? `visitor-${randomId()}`;
  return { user_id: id, session_id: null, person: null, entries: [], pending: null, trouble: null, open };
}

/** Where this page stores its conversation. */
export interface Memory {
  /** Whether it must be known who is signed in before a conversation can be recalled. */
  readonly needsPerson: boolean;
  /** Whether the chat was open on the last page of this tab. */
  readonly wasOpen: boolean;
  /** Returns the stored conversation of the person, or null. */
  recall(person: string | null): Promise<Kept | null>;
  keep(kept: Kept): void;
  /**
   * Calls `take` when another tab has stored the conversation that this page shows (null: it has ended there), and
   * `other` when it has stored another one.
   */
  follow(take: (kept: Kept | null) => void, other: () => void): void;
}

/** Maximum number of entries that are stored across page loads, and of characters in total. */
const MAX_ENTRIES = 60;
const MAX_SIZE = 400_000;

/** What both kinds of memory have. Whether the chat was open, each tab remembers for itself. */
export class StoredMemory {
  protected readonly name: string;

  /** @param base the service's address, which separates the widgets of two services on one site */
  constructor(base: string) {
    this.name = `agentd-webchat ${base}`;
  }

  get wasOpen(): boolean {
    return attempt(() => sessionStorage.getItem(`${this.name} open`)) === '1';
  }

  protected noteOpen(open: boolean): void {
    attempt(() => sessionStorage.setItem(`${this.name} open`, open ? '1' : ''));
  }

  /** The conversation as text, without its oldest entries if it is too long. */
  protected serialize(kept: Kept): string {
    let text: string;
    let most = MAX_ENTRIES;
    do {
      text = JSON.stringify({ ...kept, entries: kept.entries.slice(-most) });
      most = Math.floor(most / 2);
    } while (text.length > MAX_SIZE && most > 0);
    return text;
  }
}

/**
 * Stores conversations in `localStorage`: each person has one, which all tabs show, and so has a visitor who is not
 * signed in.
 */
export class HistoryMemory extends StoredMemory implements Memory {
  /** The key under which this page stored its conversation most recently. */
  #key = '';

  get needsPerson(): boolean {
    return this.#keys().length > 0;
  }

  /** Also deletes the conversations of other people, because they have signed out. */
  async recall(person: string | null): Promise<Kept | null> {
    const own = [this.#storageKey(person), this.#storageKey(null)];
    for (const key of this.#keys()) if (!own.includes(key)) attempt(() => localStorage.removeItem(key));
    const kept = keptIn(attempt(() => localStorage.getItem(this.#storageKey(person))));
    this.#key = own[kept?.person === person ? 0 : 1] as string;
    if (kept?.person === person) return kept;
    // A visitor who has just signed in continues the conversation of this tab, but not that of another visitor.
    if (attempt(() => sessionStorage.getItem(`${this.name} tab`)) !== '1') return null;
    return keptIn(attempt(() => localStorage.getItem(this.#storageKey(null))));
  }

  keep(kept: Kept): void {
    this.noteOpen(kept.open);
    const text = this.serialize(kept);
    const key = this.#storageKey(kept.person);
    // The person has signed in or out. The conversation continues under the new key, or has ended.
    if (this.#key !== '' && this.#key !== key) attempt(() => localStorage.removeItem(this.#key));
    this.#key = key;
    attempt(() => sessionStorage.setItem(`${this.name} tab`, kept.person === null ? '1' : ''));
    if (kept.entries.length > 0 || attempt(() => localStorage.getItem(key)))
      attempt(() => localStorage.setItem(key, text));
  }

  follow(take: (kept: Kept | null) => void, other: () => void): void {
    addEventListener('storage', ({ key, newValue, storageArea }) => {
      if (storageArea !== attempt(() => localStorage) || !key?.startsWith(`${this.name} `)) return;
      if (key === this.#key) take(keptIn(newValue));
      else if (newValue !== null) other();
    });
  }

  /** The keys of all stored conversations. */
  #keys(): string[] {
    const all = attempt(() => Object.keys(localStorage)) ?? [];
    return all.filter((key) => key.startsWith(`${this.name} `));
  }

  #storageKey(person: string | null): string {
    return `${this.name} ${person === null ? 'anonymous' : hash(person)}`;
  }
}

/** 128 random bits. `crypto.randomUUID` does not exist on pages without a secure origin. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

export function keptIn(text: string | null): Kept | null {
  const kept = attempt(() => JSON.parse(text ?? 'null') as Partial<Kept> | null);
  return typeof kept?.user_id === 'string' && Array.isArray(kept.entries) ? (kept as Kept) : null;
}

/** A browser may deny storage, or have no space left. The conversation then lasts only as long as its page. */
export function attempt<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}
