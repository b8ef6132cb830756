import type { Pending } from './deliver.ts';
import type { AgentState, Entry, Tool } from './memory.ts';

/** Maximum number of entries that are shown. The oldest are removed first. */
const MAX_ENTRIES = 200;

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
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
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

  /**
   * Removes the buttons of all questions. Any message closes the open question, so its buttons would have no effect.
   */
  closeQuestions(): void {
    for (const entry of this.entries) if (entry.from === 'agent') entry.asks = undefined;
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
export function noteTool(tools: Tool[], name: string, status: string): void {
  if (status === 'started') tools.push({ name, status });
  else if (status === 'completed' || status === 'failed') {
    const running = tools.find((tool) => tool.name === name && tool.status === 'started');
    if (running) running.status = status;
    else tools.push({ name, status });
  }
}
