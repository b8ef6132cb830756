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
 * Stores the conversation of this tab in `sessionStorage`. The browser deletes this data when the tab is closed, and no
 * other tab can read it.
 */
export class Memory {
  readonly #name: string;
  /** Id of this page. It is stored while the page exists. */
  readonly #page = randomId();
  /** Channel to the other pages of this site. */
  readonly #channel: BroadcastChannel | null;

  /** @param base the service's address, which separates the widgets of two services on one site */
  constructor(base: string) {
    this.#name = `agentd-webchat ${base}`;
    this.#channel = attempt(() => new BroadcastChannel(this.#name));
  }

  /**
   * Returns the conversation that this tab stored, or null. If a tab is duplicated, the browser also copies its
   * storage. In that case the original page responds, and this tab begins a new conversation.
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

function isKept(value: unknown): value is Kept {
  const kept = value as Partial<Kept> | null;
  return typeof kept?.user_id === 'string' && Array.isArray(kept.entries);
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
