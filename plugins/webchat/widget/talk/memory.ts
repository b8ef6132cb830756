import type { Pending } from './deliver.ts';
import { type Question, SETTLED } from './question.ts';

/** One entry of the transcript. `at` is in ms since the epoch. Entries that an older script stored have no `at`. */
export type Entry =
  | { id: number; from: 'visitor'; text: string; at?: number; undelivered?: Pending | undefined }
  | {
      id: number;
      from: 'agent';
      text: string;
      at?: number;
      tools: Tool[];
      state: AgentState;
      /** The question at the end of the answer. */
      asks?: Question | undefined;
      /** Whose credentials its calls carried: the name of the person, or null for default credentials. */
      acted_as?: string | null | undefined;
      /** The service's id of the answer. Absent if it cannot be rated. */
      message_id?: string | undefined;
      /** What the visitor thinks of the answer. */
      rating?: 1 | -1 | undefined;
    }
  | { id: number; from: 'widget'; text: string; at?: number };

export type AgentState = 'writing' | 'done' | 'stopped' | 'interrupted';

export interface Tool {
  name: string;
  /** The name for people, if the service sends one. */
  title?: string | undefined;
  /** Set if the call was not made because the visitor must sign in first. */
  needs_sign_in?: boolean;
  status: 'started' | 'completed' | 'failed';
}

/** Why the last message has no answer, and what the visitor can do. */
export interface Trouble {
  text: string;
  /** `again`: retry, not before `at`; `anew`: begin a new conversation; `edit`: change the message. */
  remedy: 'again' | 'anew' | 'edit';
  /** ms since the epoch */
  at: number;
  /** Whether the widget retries without the visitor's help as soon as the service can be reached. */
  automatic: boolean;
}

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

/** Maximum number of entries that are stored across page loads, and of characters in total. */
const MAX_ENTRIES = 60;
const MAX_SIZE = 400_000;

/**
 * Stores conversations in the browser. With history, each person has one conversation in `localStorage`, which all tabs
 * show, and so has a visitor who is not signed in. Without history, each tab has its own in `sessionStorage`.
 */
export class Memory {
  readonly #name: string;
  readonly #history: boolean;
  /** Id of this page. It is stored while the page exists. */
  readonly #page = randomId();
  /** Channel to the other pages of this site. */
  readonly #channel: BroadcastChannel | null;
  /** The key under which this page stored its conversation most recently. */
  #key = '';

  /** @param base the service's address, which separates the widgets of two services on one site */
  constructor(base: string, history: boolean) {
    this.#name = `agentd-webchat ${base}`;
    this.#history = history;
    this.#channel = history ? null : attempt(() => new BroadcastChannel(this.#name));
  }

  /** Whether it must be known who is signed in before a conversation can be recalled. */
  get needsPerson(): boolean {
    return this.#history && this.#keys().length > 0;
  }

  /** Whether the chat was open on the last page of this tab. */
  get wasOpen(): boolean {
    return attempt(() => sessionStorage.getItem(`${this.#name} open`)) === '1';
  }

  /**
   * Returns the stored conversation of the person, or null. The conversations of other people are deleted, because they
   * have signed out. Without history, it is the conversation of this tab; see `Kept.person`.
   */
  async recall(person: string | null): Promise<Kept | null> {
    if (this.#history) {
      const own = [this.#keyOf(person), this.#keyOf(null)];
      for (const key of this.#keys()) if (!own.includes(key)) attempt(() => localStorage.removeItem(key));
      const kept = keptIn(attempt(() => localStorage.getItem(this.#keyOf(person))));
      this.#key = own[kept?.person === person ? 0 : 1] as string;
      if (kept?.person === person) return kept;
      // A visitor who has just signed in continues the conversation of this tab, but not that of another visitor.
      if (attempt(() => sessionStorage.getItem(`${this.#name} tab`)) !== '1') return null;
      return keptIn(attempt(() => localStorage.getItem(this.#keyOf(null))));
    }
    const holder = attempt(() => sessionStorage.getItem(`${this.#name} page`));
    if (holder !== this.#page) {
      const copied = holder !== null && (await this.#answers(holder));
      this.#answerForMyself();
      // If a tab is duplicated, the browser also copies its storage. The conversation belongs to the original.
      if (copied) return null;
    }
    return keptIn(attempt(() => sessionStorage.getItem(this.#name)));
  }

  keep(kept: Kept): void {
    let text: string;
    let most = MAX_ENTRIES;
    do {
      text = JSON.stringify({ ...kept, entries: kept.entries.slice(-most) });
      most = Math.floor(most / 2);
    } while (text.length > MAX_SIZE && most > 0);
    attempt(() => sessionStorage.setItem(`${this.#name} open`, kept.open ? '1' : ''));
    if (!this.#history) {
      attempt(() => sessionStorage.setItem(this.#name, text));
      return;
    }
    const key = this.#keyOf(kept.person);
    // The person has signed in or out. The conversation continues under the new key, or has ended.
    if (this.#key !== '' && this.#key !== key) attempt(() => localStorage.removeItem(this.#key));
    this.#key = key;
    attempt(() => sessionStorage.setItem(`${this.#name} tab`, kept.person === null ? '1' : ''));
    if (kept.entries.length > 0 || attempt(() => localStorage.getItem(key)))
      attempt(() => localStorage.setItem(key, text));
  }

  /**
   * Calls `take` when another tab has stored the conversation that this page shows (null: it has ended there), and
   * `other` when it has stored another one.
   */
  follow(take: (kept: Kept | null) => void, other: () => void): void {
    if (!this.#history) return;
    addEventListener('storage', ({ key, newValue, storageArea }) => {
      if (storageArea !== attempt(() => localStorage) || !key?.startsWith(`${this.#name} `)) return;
      if (key === this.#key) take(keptIn(newValue));
      else if (newValue !== null) other();
    });
  }

  /** The keys of all stored conversations. */
  #keys(): string[] {
    const all = attempt(() => Object.keys(localStorage)) ?? [];
    return all.filter((key) => key.startsWith(`${this.#name} `));
  }

  #keyOf(person: string | null): string {
    return `${this.#name} ${person === null ? 'anonymous' : hash(person)}`;
  }

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

/** 128 random bits. `crypto.randomUUID` does not exist on pages without a secure origin. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function keptIn(text: string | null): Kept | null {
  const kept = attempt(() => JSON.parse(text ?? 'null') as Partial<Kept> | null);
  return typeof kept?.user_id === 'string' && Array.isArray(kept.entries) ? (kept as Kept) : null;
}

/** A hash of 52 bits. It only keeps names out of keys: whose a conversation is, its content says. */
function hash(text: string): string {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  return (one >>> 0).toString(36) + (two >>> 0).toString(36);
}

/** A browser may deny storage, or have no space left. The conversation then lasts only as long as its page. */
function attempt<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}

/** Maximum number of entries that are shown. The oldest are removed first. */
const SHOWN_ENTRIES = 200;

type Answer = Extract<Entry, { from: 'agent' }>;

/** The entries of a conversation, oldest first. */
export class Transcript {
  /** The array is changed in place. */
  entries: Entry[] = [];
  #lastId = 0;

  /** Continues with these entries. */
  take(entries: Entry[]): void {
    this.entries = entries;
    this.#lastId = Math.max(this.#lastId, ...entries.map(({ id }) => id));
  }

  /** Adds a text of the visitor, or a notice of the widget. */
  add(from: 'visitor' | 'widget', text: string): void {
    this.entries.push({ id: ++this.#lastId, from, at: Date.now(), text });
    if (this.entries.length > SHOWN_ENTRIES) this.entries.shift();
  }

  /** Returns the answer that is being written, and begins it if there is none. */
  answer(): Answer {
    const last = this.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'writing') return last;
    const answer: Answer = {
      id: ++this.#lastId,
      from: 'agent',
      at: Date.now(),
      text: '',
      tools: [],
      state: 'writing',
    };
    this.entries.push(answer);
    return answer;
  }

  /** Ends the answer in progress and keeps its text. */
  settle(state: Exclude<AgentState, 'writing'>): void {
    const last = this.entries.at(-1);
    if (last?.from !== 'agent' || last.state !== 'writing') return;
    if (state === 'interrupted' && last.text === '' && last.tools.length === 0) this.entries.pop();
    last.state = state;
  }

  /** Continues an interrupted answer in the entry that contains its first part. */
  resume(): void {
    const last = this.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'interrupted') last.state = 'writing';
  }

  /** The questions that are open, or whose outcome is not known yet. */
  unsettled(): Question[] {
    return this.entries.flatMap((entry) =>
      entry.from === 'agent' && entry.asks && !SETTLED.includes(entry.asks.state) ? [entry.asks] : [],
    );
  }

  /** Marks the visitor's last message as undelivered, or removes that mark. */
  mark(undelivered: Pending | undefined): void {
    const [entry] = this.entries.filter((one) => one.from === 'visitor').slice(-1);
    if (entry) entry.undelivered = undelivered;
  }

  /** The entry with this id. */
  find(id: number): Entry | undefined {
    return this.entries.find((entry) => entry.id === id);
  }
}

/**
 * Updates the lines of the tools. A tool may run several times, and each start adds a line. When a tool ends, its
 * oldest running line is updated.
 */
export function noteTool(tools: Tool[], { name, title, status, needs_sign_in = false }: ToolEvent): void {
  if (status === 'started') tools.push({ name, title, status });
  else if (status === 'completed' || status === 'failed') {
    const running = tools.find((tool) => tool.name === name && tool.status === 'started');
    if (running) Object.assign(running, { status, needs_sign_in });
    else tools.push({ name, title, status, needs_sign_in });
  }
}

export type ToolEvent = Omit<Tool, 'status'> & { status: string };
