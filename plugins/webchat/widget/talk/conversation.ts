import { type Texts, wordsForFailure } from '../texts.ts';
import type { Delivery, DeliveryListener, Pending } from './deliver.ts';
import { Failure } from './failure.ts';
import { type Entry, type Kept, type Memory, randomId, type Tool, type Trouble } from './memory.ts';
import type { StreamEnd } from './stream.ts';
import { personOf, type TokenSource } from './token.ts';

/** Entries that are shown; older ones are let go. */
const MAX_ENTRIES = 200;

/** What is shown. */
export interface State {
  entries: readonly Entry[];
  /** A message is being answered. */
  busy: boolean;
  /** The stream is being connected again. */
  reconnecting: boolean;
  trouble: Trouble | null;
}

export interface ConversationParts {
  delivery: Delivery;
  tokens: TokenSource;
  memory: Memory;
  texts: Texts;
  /** Of the site; null makes one up for this tab. */
  user_id: string | null;
  /** What the page tells about itself and the visitor, unverified. */
  metadata(): Record<string, string>;
  changed(): void;
}

const REPLACED = new DOMException('the conversation was left', 'AbortError');

/** One conversation of this tab with the agent: what was said, whose it is, and the message on its way. */
export class Conversation {
  readonly #parts: ConversationParts;
  #kept: Kept;
  #run: AbortController | null = null;
  #reconnecting = false;
  #lastId = 0;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#kept = this.#fresh(false);
  }

  get state(): State {
    return {
      entries: this.#kept.entries,
      busy: this.#run !== null,
      reconnecting: this.#reconnecting,
      trouble: this.#kept.trouble,
    };
  }

  get open(): boolean {
    return this.#kept.open;
  }

  set open(open: boolean) {
    this.#kept.open = open;
    this.#keep();
  }

  /**
   * Takes up what this tab kept. Somebody's conversation is shown only after the site has said that the same
   * person is still signed in.
   */
  async recall(): Promise<void> {
    const kept = await this.#parts.memory.recall();
    if (kept === null) return;
    const own = this.#parts.user_id === null || this.#parts.user_id === kept.user_id;
    if (!own || (kept.person !== null && personOf(await this.#parts.tokens.current()) !== kept.person)) {
      this.#kept = this.#fresh(kept.open);
      this.#keep();
      return;
    }
    this.#kept = kept;
    this.#lastId = Math.max(0, ...kept.entries.map(({ id }) => id));
    if (kept.pending && kept.trouble === null) void this.#deliver(kept.pending);
  }

  /** Sends what the visitor wrote. */
  async send(text: string): Promise<void> {
    const message = text.trim();
    if (message === '' || this.#run !== null) return;
    const run = new AbortController();
    this.#run = run;
    this.#kept.trouble = null;
    this.#kept.pending = null;
    this.#say(message);
    const token = await this.#parts.tokens.current();
    if (this.#run !== run) return;
    if (this.#followPerson(token)) this.#say(message);
    await this.#deliver(this.#pendingFor(message));
  }

  /** Another try for the message that has no answer. */
  async retry(): Promise<void> {
    const { pending } = this.#kept;
    if (pending && this.#run === null) await this.#deliver(pending);
  }

  /** The device is connected again: what waited for that goes out. */
  async cameOnline(): Promise<void> {
    if (this.#kept.trouble?.offline) await this.retry();
  }

  /** Ends the answer that is being written; what was said so far stays. */
  async stop(): Promise<void> {
    const run = this.#run;
    const stream_id = this.#kept.pending?.stream_id ?? null;
    if (run === null) return;
    const told = stream_id !== null && (await this.#parts.delivery.stop(stream_id));
    // The stream itself says that it has ended; where the service could not be told, it is left.
    if (told || this.#run !== run) return;
    this.#finish({ response: '', session_id: this.#kept.session_id ?? '', stopped: true });
    run.abort(REPLACED);
  }

  /** Leaves this conversation and begins another. @param notice what the visitor is told */
  restart(notice: string): void {
    const stream_id = this.#run ? this.#kept.pending?.stream_id : null;
    if (stream_id) void this.#parts.delivery.stop(stream_id);
    this.#run?.abort(REPLACED);
    this.#run = null;
    this.#reconnecting = false;
    this.#kept = this.#fresh(this.#kept.open);
    this.#add({ id: this.#nextId(), from: 'widget', text: notice });
  }

  /** Asks the site anew who is signed in: nobody reads on in another person's conversation. */
  async identityChanged(): Promise<void> {
    this.#followPerson(await this.#parts.tokens.renew());
  }

  /** The page is about to go: what is half written is kept. */
  keep(): void {
    this.#keep();
  }

  /** True where that began a new conversation. */
  #followPerson(token: string | null): boolean {
    const person = personOf(token);
    const before = this.#kept.person;
    const changed = before !== null && person !== before;
    const { texts } = this.#parts;
    if (changed) this.restart(person === null ? texts.signedOut : texts.personChanged);
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

  async #deliver(pending: Pending): Promise<void> {
    const run = new AbortController();
    this.#run = run;
    this.#kept.trouble = null;
    this.#kept.pending = pending;
    this.#agentEntry();
    this.#changed();
    try {
      const token = await this.#parts.tokens.current();
      run.signal.throwIfAborted();
      const end = await this.#parts.delivery.send(pending, token, this.#listener(run, pending), run.signal);
      if (this.#run === run) this.#finish(end);
    } catch (error) {
      if (this.#run === run) this.#fail(error instanceof Failure ? error : new Failure('other'), pending);
      if (!(error instanceof Failure) && !run.signal.aborted) throw error;
    }
  }

  /** What is told of a run that was left in the meantime is not heard. */
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
      started: (session_id) =>
        heard(() => {
          this.#kept.session_id = session_id;
          this.#keep();
        }),
      text: (piece) =>
        heard(() => {
          this.#agentEntry().text += piece;
        }),
      tool: (name, status) => heard(() => noteTool(this.#agentEntry().tools, name, status)),
      connected: (yes) =>
        heard(() => {
          this.#reconnecting = !yes;
        }),
    };
  }

  #finish({ response, session_id, stopped }: StreamEnd): void {
    const entry = this.#agentEntry();
    if (response !== '' || !stopped) entry.text = response;
    entry.state = stopped ? 'stopped' : 'done';
    settleTools(entry.tools);
    this.#run = null;
    this.#reconnecting = false;
    this.#kept.session_id = session_id || this.#kept.session_id;
    this.#kept.pending = null;
    this.#keep();
    this.#changed();
  }

  #fail(failure: Failure, pending: Pending): void {
    this.#run = null;
    this.#reconnecting = false;
    this.#dropUnfinished();
    if (failure.code === 'session_forbidden') {
      this.#moveToNewSession(pending);
      return;
    }
    // A message that is surely not answered is asked anew; one that may be is asked for again.
    if (failure.over) this.#kept.pending = { ...pending, key: randomId(), stream_id: null, after: 0 };
    this.#kept.trouble = this.#troubleOf(failure);
    this.#keep();
    this.#changed();
  }

  /** The session is somebody else's, so nothing was run; the message goes out in a session of its own. */
  #moveToNewSession({ message }: Pending): void {
    const { person } = this.#kept;
    this.restart(this.#parts.texts.restarted);
    this.#kept.person = person;
    this.#say(message);
    void this.#deliver(this.#pendingFor(message));
  }

  #troubleOf({ code, retryAfter }: Failure): Trouble {
    return {
      text: wordsForFailure(this.#parts.texts, code),
      remedy: code === 'turn_limit' ? 'anew' : code === 'body_too_large' ? 'edit' : 'again',
      at: Date.now() + retryAfter * 1000,
      offline: code === 'offline',
    };
  }

  /** The answer that is being written; there is always one while a message is on its way. */
  #agentEntry(): Extract<Entry, { from: 'agent' }> {
    const last = this.#kept.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'writing') return last;
    const entry = {
      id: this.#nextId(),
      from: 'agent' as const,
      text: '',
      tools: [],
      state: 'writing' as const,
    };
    this.#kept.entries.push(entry);
    return entry;
  }

  #dropUnfinished(): void {
    const last = this.#kept.entries.at(-1);
    if (last?.from === 'agent' && last.state === 'writing') this.#kept.entries.pop();
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
    entries.push(entry);
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

/** A tool may run several times; each start is a line of its own, and the first that runs ends first. */
function noteTool(tools: Tool[], name: string, status: string): void {
  if (status === 'started') tools.push({ name, status });
  else if (status === 'completed' || status === 'failed') {
    const running = tools.find((tool) => tool.name === name && tool.status === 'started');
    if (running) running.status = status;
    else tools.push({ name, status });
  }
}

function settleTools(tools: Tool[]): void {
  for (const tool of tools) if (tool.status === 'started') tool.status = 'completed';
}
