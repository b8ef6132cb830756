import type { StreamEnd } from '../../../../src/channel/event-stream.ts';
import { type Texts, wordsForFailure } from '../texts.ts';
import type { Delivery, DeliveryListener, Pending } from './deliver.ts';
import { Failure } from './failure.ts';
import {
  type AgentState,
  type Entry,
  type Kept,
  type Memory,
  randomId,
  type Tool,
  type Trouble,
} from './memory.ts';
import { Reach } from './reach.ts';
import { personOf, type TokenSource } from './token.ts';

/** Most entries that are shown. Older ones are removed. */
const MAX_ENTRIES = 200;

/** Failures that end without help when the service is back. */
const PASSING: readonly string[] = ['offline', 'unreachable', 'unavailable'];
/** Statuses of a service that received the message but could not answer it. */
const TAKEN: readonly number[] = [409, 500, 502, 504];

/** `online` and `away` while the widget is idle, the others while a message is being answered. */
export type Connection = 'online' | 'away' | 'connecting' | 'answering' | 'reconnecting';

/** What is shown. */
export interface State {
  entries: readonly Entry[];
  /** A message is being answered. */
  busy: boolean;
  connection: Connection;
  trouble: Trouble | null;
  /** The visitor has just begun a new conversation, and can restore the last one. */
  undoable: boolean;
}

export interface ConversationParts {
  delivery: Delivery;
  tokens: TokenSource;
  memory: Memory;
  texts: Texts;
  /** The site's id for the visitor. Null: the widget makes one for this tab. */
  user_id: string | null;
  /** Unverified facts about the page and the visitor. */
  metadata(): Record<string, string>;
  changed(): void;
}

const REPLACED = new DOMException('the conversation was left', 'AbortError');

/** One conversation of this tab: its entries, its person, and the message that is being answered. */
export class Conversation {
  readonly #parts: ConversationParts;
  #kept: Kept;
  /** The conversation that the visitor has just left. */
  #left: Kept | null = null;
  #run: AbortController | null = null;
  #phase: Connection = 'connecting';
  #lastId = 0;
  readonly #reach: Reach;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#kept = this.#fresh(false);
    this.#reach = new Reach(
      () => parts.delivery.isReachable(),
      (away) => {
        if (!away && this.#kept.trouble?.automatic) void this.retry();
        this.#changed();
      },
    );
  }

  get state(): State {
    return {
      entries: this.#kept.entries,
      busy: this.#run !== null,
      connection: this.#run ? this.#phase : this.#reach.away ? 'away' : 'online',
      trouble: this.#kept.trouble,
      undoable: this.#left !== null,
    };
  }

  get open(): boolean {
    return this.#kept.open;
  }

  set open(open: boolean) {
    this.#kept.open = open;
    this.#reach.watched = open;
    this.#keep();
  }

  /**
   * Restores the conversation that this tab stored. A conversation of a signed-in person is shown only after the site
   * has confirmed that this person is still signed in.
   */
  async recall(): Promise<void> {
    const kept = await this.#parts.memory.recall();
    if (kept === null) return this.#goOn();
    const own = this.#parts.user_id === null || this.#parts.user_id === kept.user_id;
    if (!own || (kept.person !== null && personOf(await this.#parts.tokens.current()) !== kept.person)) {
      this.#kept = this.#fresh(kept.open);
      this.#keep();
      return;
    }
    this.#takeUp(kept);
    this.#goOn();
  }

  /**
   * Called when the page is shown again, or the device is connected again. Somebody may have signed in or out
   * meanwhile.
   * @param wasFrozen the browser kept the page while it showed others, and those may have continued the conversation
   * with a newer session id
   */
  async returned(wasFrozen: boolean): Promise<void> {
    const { session_id, person, open, trouble } = this.#kept;
    if (wasFrozen || session_id !== null || person !== null) {
      const token = await this.#parts.tokens.renew();
      if (wasFrozen) {
        this.#leaveRun();
        await this.recall();
      }
      this.#followPerson(token);
    }
    if (open || trouble) void this.#reach.look();
    this.#changed();
  }

  /** Sends the text of the visitor. */
  async send(text: string): Promise<void> {
    const message = text.trim();
    if (message === '' || this.#run !== null) return;
    this.#left = null;
    await this.#sendNew(message);
  }

  /** Answers the question of an entry with one of its buttons. */
  async answer(entry_id: number, approve: boolean): Promise<void> {
    const entry = this.#kept.entries.find(({ id }) => id === entry_id);
    if (entry?.from !== 'agent' || entry.asks === undefined || this.#run !== null) return;
    const { texts, metadata } = this.#parts;
    const confirm = { id: entry.asks, approve };
    this.#left = null;
    this.#say(approve ? texts.confirm : texts.decline);
    // Without a text of its own, the message is nothing but the answer.
    await this.#deliver({ ...this.#pendingFor(''), metadata: { ...metadata(), confirm } });
  }

  /** Retries the message that has no answer. */
  async retry(): Promise<void> {
    const { pending } = this.#kept;
    if (pending && this.#run === null) await this.#deliver(pending);
  }

  /** Sends a message that was not delivered. It moves to the end of the transcript. */
  async resend(id: number): Promise<void> {
    const { entries, session_id } = this.#kept;
    const entry = entries.find((one) => one.id === id);
    if (entry?.from !== 'visitor' || !entry.undelivered || this.#run !== null) return;
    const { undelivered, text } = entry;
    entries.splice(entries.indexOf(entry), 1);
    this.#say(text);
    // The service answers a repeated message once. In another session it is another message.
    await this.#deliver(undelivered.session_id === session_id ? undelivered : this.#pendingFor(text));
  }

  /** Stops the answer that is being written. The text so far stays. */
  async stop(): Promise<void> {
    const run = this.#run;
    const stream_id = this.#kept.pending?.stream_id ?? null;
    if (run === null) return;
    const told = stream_id !== null && (await this.#parts.delivery.stop(stream_id));
    // The stream reports its end. If the service could not be told, the widget leaves the stream.
    if (told || this.#run !== run) return;
    this.#finish({ response: '', session_id: '', stopped: true });
    run.abort(REPLACED);
  }

  /** Begins a new conversation. The last one can be restored until a message is sent in the new one. */
  startOver(): void {
    const left = { ...this.#kept, pending: this.#run ? null : this.#kept.pending };
    this.#settle('stopped');
    this.#restart(this.#parts.texts.restarted);
    if (left.entries.some(({ from }) => from !== 'widget')) this.#left = left;
    this.#changed();
  }

  /** Restores the last conversation. */
  undo(): void {
    if (this.#left === null) return;
    this.#takeUp({ ...this.#left, open: this.#kept.open });
    this.#goOn();
    this.#keep();
    this.#changed();
  }

  /** Asks the site again who is signed in, so that nobody reads another person's conversation. */
  async identityChanged(): Promise<void> {
    this.#followPerson(await this.#parts.tokens.renew());
  }

  /** The page is about to close: stores the unfinished text. */
  keep(): void {
    this.#keep();
  }

  /** Leaves this conversation and begins another. @param notice text for the visitor */
  #restart(notice: string): void {
    const stream_id = this.#run ? this.#kept.pending?.stream_id : null;
    if (stream_id) void this.#parts.delivery.stop(stream_id);
    this.#leaveRun();
    this.#left = null;
    this.#kept = { ...this.#fresh(this.#kept.open), person: this.#kept.person };
    this.#add({ id: this.#nextId(), from: 'widget', text: notice });
  }

  #takeUp(kept: Kept): void {
    this.#kept = kept;
    this.#left = null;
    this.#lastId = Math.max(this.#lastId, ...kept.entries.map(({ id }) => id));
  }

  /** Requests the answer that a restored conversation still waits for. */
  #goOn(): void {
    const { pending, trouble } = this.#kept;
    if (trouble?.automatic) this.#reach.lost();
    else if (pending && trouble === null) void this.#deliver(pending);
  }

  #leaveRun(): void {
    this.#run?.abort(REPLACED);
    this.#run = null;
  }

  /** True if a new conversation began. */
  #followPerson(token: string | null): boolean {
    const person = personOf(token);
    const before = this.#kept.person;
    const changed = before !== null && person !== before;
    const { texts } = this.#parts;
    if (changed) this.#restart(person === null ? texts.signedOut : texts.personChanged);
    this.#kept.person = person;
    this.#keep();
    return changed;
  }

  #pendingFor(message: string): Pending {
    const { user_id, session_id } = this.#kept;
    return {
      key: randomId(),
      user_id,
      message,
      session_id,
      metadata: this.#parts.metadata(),
      stream_id: null,
      after: 0,
    };
  }

  async #sendNew(message: string): Promise<void> {
    this.#say(message);
    await this.#deliver(this.#pendingFor(message), true);
  }

  /** @param isNew the person who is signed in now has just written it */
  async #deliver(pending: Pending, isNew = false): Promise<void> {
    const run = new AbortController();
    this.#run = run;
    // Any message settles the question: a button below it would do nothing.
    for (const entry of this.#kept.entries) if (entry.from === 'agent') entry.asks = undefined;
    this.#phase = 'connecting';
    this.#kept.trouble = null;
    this.#kept.pending = pending;
    // A resumed answer continues in the entry that has its first part.
    const last = this.#kept.entries.at(-1);
    if (pending.after > 0 && last?.from === 'agent' && last.state === 'interrupted') last.state = 'writing';
    this.#agentEntry();
    this.#mark(undefined);
    this.#changed();
    try {
      const token = await this.#parts.tokens.current();
      run.signal.throwIfAborted();
      if (this.#followPerson(token)) {
        // A message of the previous person must not be sent in the name of the next one.
        if (isNew) await this.#sendNew(pending.message);
        return;
      }
      const end = await this.#parts.delivery.send(pending, token, this.#listener(run, pending), run.signal);
      if (this.#run !== run) return;
      this.#finish(end);
      this.#reach.found();
    } catch (error) {
      if (this.#run === run) this.#fail(error instanceof Failure ? error : new Failure('other'), pending);
      if (!(error instanceof Failure) && !run.signal.aborted) throw error;
    }
  }

  /** Events of a run that was left meanwhile are ignored. */
  #listener(run: AbortController, pending: Pending): DeliveryListener {
    const heard = (tell: () => void) => {
      if (this.#run !== run) return;
      tell();
      this.#changed();
    };
    return {
      opened: (stream_id) => {
        pending.stream_id = stream_id;
        this.#keep();
      },
      taken: (id) => {
        pending.after = id;
      },
      // Sign-in changes the session id; the old id must not be used again.
      started: (session_id) =>
        heard(() => {
          this.#followSession(session_id);
          this.#keep();
        }),
      text: (piece) =>
        heard(() => {
          this.#agentEntry().text += piece;
        }),
      tool: (name, status) => heard(() => noteTool(this.#agentEntry().tools, name, status)),
      confirmation: (id) =>
        heard(() => {
          this.#agentEntry().asks = id;
        }),
      connected: (yes) =>
        heard(() => {
          this.#phase = yes ? 'answering' : pending.after > 0 ? 'reconnecting' : 'connecting';
        }),
    };
  }

  #finish({ response, session_id, stopped }: StreamEnd): void {
    const entry = this.#agentEntry();
    // An empty reply never replaces text that was shown.
    if (response !== '') entry.text = response;
    this.#followSession(session_id);
    this.#kept.pending = null;
    this.#settle(stopped ? 'stopped' : 'done');
    this.#run = null;
    this.#keep();
    this.#changed();
  }

  #fail(failure: Failure, pending: Pending): void {
    const { code, over, retryAfter, status } = failure;
    this.#run = null;
    this.#settle('interrupted');
    if (code === 'session_forbidden' && pending.session_id !== null) {
      // The session belongs to somebody else and nothing was run: send the message in a new session.
      this.#restart(this.#parts.texts.restarted);
      void this.send(pending.message);
      return;
    }
    if (code === 'confirmation_gone') {
      // Another try would find nothing that waits.
      this.#kept.pending = null;
      this.#add({ id: this.#nextId(), from: 'widget', text: wordsForFailure(this.#parts.texts, code) });
      return;
    }
    // If the run has ended, another try is a new message; otherwise it repeats the request.
    if (over) this.#kept.pending = { ...this.#pendingFor(pending.message), metadata: pending.metadata };
    if (!over && pending.stream_id === null && !TAKEN.includes(status)) this.#mark(pending);
    this.#kept.trouble = this.#troubleOf(failure);
    if (PASSING.includes(code)) this.#reach.lost(retryAfter * 1000);
    else this.#reach.found();
    this.#keep();
    this.#changed();
  }

  /** The next message goes to the session that the service named last. */
  #followSession(session_id: string): void {
    if (session_id !== '') this.#kept.session_id = session_id;
  }

  /** Marks the visitor's last message as undelivered, or as being sent. */
  #mark(undelivered: Pending | undefined): void {
    const [entry] = this.#kept.entries.filter((one) => one.from === 'visitor').slice(-1);
    if (entry) entry.undelivered = undelivered;
  }

  #troubleOf({ code, retryAfter }: Failure): Trouble {
    return {
      text: wordsForFailure(this.#parts.texts, code),
      remedy: code === 'turn_limit' ? 'anew' : code === 'body_too_large' ? 'edit' : 'again',
      at: Date.now() + retryAfter * 1000,
      automatic: PASSING.includes(code),
    };
  }

  /** The answer that is being written. There is always one while a message is being answered. */
  #agentEntry(): Extract<Entry, { from: 'agent' }> {
    const last = this.#kept.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'writing') return last;
    const entry = {
      id: this.#nextId(),
      from: 'agent' as const,
      at: Date.now(),
      text: '',
      tools: [],
      state: 'writing' as const,
    };
    this.#kept.entries.push(entry);
    return entry;
  }

  /** Ends the answer in progress and keeps its text. */
  #settle(state: Exclude<AgentState, 'writing'>): void {
    const last = this.#kept.entries.at(-1);
    if (last?.from !== 'agent' || last.state !== 'writing') return;
    if (state === 'interrupted' && last.text === '' && last.tools.length === 0) this.#kept.entries.pop();
    last.state = state;
  }

  #fresh(open: boolean): Kept {
    const user_id = this.#parts.user_id ?? `visitor-${randomId()}`;
    return { user_id, session_id: null, person: null, entries: [], pending: null, trouble: null, open };
  }

  #say(text: string): void {
    this.#add({ id: this.#nextId(), from: 'visitor', text });
  }

  #add(entry: Entry): void {
    const { entries } = this.#kept;
    entries.push({ at: Date.now(), ...entry });
    if (entries.length > MAX_ENTRIES) entries.shift();
    this.#keep();
    this.#changed();
  }

  #nextId(): number {
    return ++this.#lastId;
  }

  #keep(): void {
    this.#parts.memory.keep(this.#kept);
  }

  #changed(): void {
    this.#parts.changed();
  }
}

/** A tool may run several times. Each start has its own line; the first running one ends first. */
function noteTool(tools: Tool[], name: string, status: string): void {
  if (status === 'started') tools.push({ name, status });
  else if (status === 'completed' || status === 'failed') {
    const running = tools.find((tool) => tool.name === name && tool.status === 'started');
    if (running) running.status = status;
    else tools.push({ name, status });
  }
}
