import type { ActionsEvent, ConfirmationAnswer, Receipt } from '../../../../src/channel/event-stream.ts';
import type { Pending } from './deliver.ts';
import { combineOutcomes, type Question, type QuestionState, SETTLED } from './question.ts';

/** One entry of the transcript. `at` is in ms since the epoch. */
export type Entry =
  | { id: number; from: 'visitor'; text: string; at: number; undelivered?: Pending | undefined }
  | {
      id: number;
      from: 'agent';
      text: string;
      at: number;
      tools: Tool[];
      state: AgentState;
      /** The question at the end of the answer. */
      asks?: Question | undefined;
      /** What the message did, besides what cards say. */
      did?: ActionsEvent | undefined;
      /** How many of the first tools carry out what a card says. */
      told?: number;
      /** Whose credentials its calls carried: the name of the person, or null for default credentials. */
      acted_as?: string | null | undefined;
      /** The service's id of the answer. Absent if it cannot be rated. */
      message_id?: string | undefined;
      /** What the visitor thinks of the answer. */
      rating?: 1 | -1 | undefined;
    }
  | { id: number; from: 'widget'; text: string; at: number };

export type AgentState = 'writing' | 'done' | 'stopped' | 'interrupted';

export interface Tool {
  name: string;
  /** The name for people, if the service sends one. */
  title?: string | undefined;
  /** Set if the call was not made because the visitor must sign in first. */
  needs_sign_in?: boolean;
  status: 'started' | 'completed' | 'failed';
}

/** Maximum number of entries that are shown. The oldest are removed first. */
const SHOWN_ENTRIES = 200;

export type Answer = Extract<Entry, { from: 'agent' }>;

/** The state of a question whose answer got no response. Another message leaves the question open. */
const STATE_IN_DOUBT: Readonly<Partial<Record<QuestionState, QuestionState>>> = {
  sending: 'unknown',
  refusing: 'unknown',
  words: 'open',
};

/** What the state of a call says about the action that it carried out. */
const MADE = { completed: 'done', failed: 'failed', started: 'unknown' } as const;

/** The receipts of the actions of a question, and the others. */
function splitReceipts({ id }: Question, receipts: readonly Receipt[]): [Receipt[], Receipt[]] {
  const isOwn = (receipt: Receipt) => receipt.id.split(':')[0] === id;
  return [receipts.filter(isOwn), receipts.filter((one) => !isOwn(one))];
}

/** The text of an entry, without the lines that are shown as a card or as receipts. */
export function shownText(entry: Entry): string {
  const ends = entry.from === 'agent' ? [entry.asks?.begins_at, entry.did?.begins_at] : [];
  const end = Math.min(...ends.map((at) => at ?? entry.text.length));
  return end < entry.text.length ? entry.text.slice(0, end).trimEnd() : entry.text;
}

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
  #unsettled(): Question[] {
    return this.entries.flatMap((entry) =>
      entry.from === 'agent' && entry.asks && !SETTLED.includes(entry.asks.state) ? [entry.asks] : [],
    );
  }

  /**
   * A message is being sent.
   * @param confirm the answer that it gives to a question
   * @returns how many actions it confirms
   */
  questionsSent(confirm: ConfirmationAnswer | undefined): number {
    let count = 0;
    for (const asks of this.#unsettled()) {
      if (confirm?.id === asks.id) {
        asks.state = confirm.approve ? 'sending' : 'refusing';
        asks.approved = confirm.approve;
        const all = Array.isArray(asks.actions) ? asks.actions.length : 1;
        count = confirm.approve === true ? all : confirm.approve ? confirm.approve.length : 0;
      } else if (asks.state === 'open') asks.state = 'words';
    }
    return count;
  }

  /** Notes what became of the questions that the answered message was about. Their cards say it, so the answer does not. */
  questionsAnswered(answer: Answer): void {
    const { asks: next, tools, did } = answer;
    for (const asks of this.#unsettled()) {
      if (asks === next || asks.state === 'unknown') continue;
      const [own, others] = splitReceipts(asks, did?.actions ?? []);
      // The confirmed call is made first. Later calls are the agent's.
      const isOne = !Array.isArray(asks.actions) || asks.actions.length < 2;
      const [first] = isOne && asks.state !== 'words' ? tools : [];
      const outcome =
        combineOutcomes(own.length > 0 ? own : did?.actions) ?? (first ? MADE[first.status] : null);
      asks.receipts = own;
      if (did) did.actions = others;
      answer.told ||= own.length;
      // The whole answer says that nothing was done.
      if (asks.state === 'refusing' && asks.id !== next?.id) answer.did = { actions: [], begins_at: 0 };
      asks.state =
        asks.id === next?.id ? 'repeated' : asks.state === 'refusing' ? 'declined' : (outcome ?? 'closed');
      asks.at = Date.now();
    }
  }

  /** The message got no answer. @param gone whether the service said that its question is no longer open */
  questionsFailed(gone: boolean): void {
    for (const asks of this.#unsettled()) {
      const isOver = asks.expires_at < Date.now() ? 'expired' : 'closed';
      asks.state = gone ? isOver : (STATE_IN_DOUBT[asks.state] ?? asks.state);
    }
  }

  /** Marks the visitor's last message as undelivered, or removes that mark. */
  mark(undelivered: Pending | undefined): void {
    const [entry] = this.entries.filter((one) => one.from === 'visitor').slice(-1);
    if (entry) entry.undelivered = undelivered;
  }

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
