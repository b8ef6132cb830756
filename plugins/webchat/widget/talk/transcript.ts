import type { Pending } from './deliver.ts';
import type { AgentState, Entry, Tool } from './memory.ts';

/** Maximum number of entries that are shown. Older ones are removed. */
const MAX_ENTRIES = 200;

type Answer = Extract<Entry, { from: 'agent' }>;

/** The entries of a conversation, oldest first. */
export class Transcript {
  /** Changed in place. */
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
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
  }

  /** The answer that is being written. There is always one while a message is being answered. */
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

  /** An interrupted answer continues in the entry that has its first part. */
  resume(): void {
    const last = this.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'interrupted') last.state = 'writing';
  }

  /**
   * Removes the buttons of all questions: after any message, a question is closed, and its buttons would have no
   * effect.
   */
  closeQuestions(): void {
    for (const entry of this.entries) if (entry.from === 'agent') entry.asks = undefined;
  }

  /** Marks the visitor's last message as undelivered, or as being sent. */
  mark(undelivered: Pending | undefined): void {
    const [entry] = this.entries.filter((one) => one.from === 'visitor').slice(-1);
    if (entry) entry.undelivered = undelivered;
  }

  /** The entry with this id. */
  find(id: number): Entry | undefined {
    return this.entries.find((entry) => entry.id === id);
  }
}

/** A tool may run several times. Each start has its own line; the first running one ends first. */
export function noteTool(tools: Tool[], name: string, status: string): void {
  if (status === 'started') tools.push({ name, status });
  else if (status === 'completed' || status === 'failed') {
    const running = tools.find((tool) => tool.name === name && tool.status === 'started');
    if (running) running.status = status;
    else tools.push({ name, status });
  }
}
