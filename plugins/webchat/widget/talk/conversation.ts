import type { EventData, StreamEnd } from '../../../../src/channel/event-stream.ts';
import { type Texts, wordsForFailure } from '../texts.ts';
import { type Delivery, type DeliveryListener, type Pending, Reach } from './deliver.ts';
import {
  type Entry,
  type Kept,
  type Memory,
  noteTool,
  randomId,
  Transcript,
  type Trouble,
} from './memory.ts';
import { outcomeIn, type Question, type QuestionState, questionIn } from './question.ts';
import { Failure, type Service } from './service.ts';
import { nameOf, personOf, type TokenSource } from './token.ts';

/** Failures that end without the visitor's help when the service can be reached again. */
const PASSING: readonly string[] = ['offline', 'unreachable', 'unavailable'];
/** Statuses with which a service says that it received the message, but could not answer it. */
const TAKEN: readonly number[] = [409, 500, 502, 504];

/** `online` and `away` while the widget is idle, the other values while a message is being answered. */
export type Connection = 'online' | 'away' | 'connecting' | 'answering' | 'reconnecting';

/** The state that the widget shows. */
export interface State {
  entries: readonly Entry[];
  /** Whether a message is being answered. */
  busy: boolean;
  connection: Connection;
  trouble: Trouble | null;
  /** Whether the visitor has just begun a new conversation, and can restore the last conversation. */
  undoable: boolean;
}

export interface ConversationParts {
  delivery: Delivery;
  service: Pick<Service, 'rate'>;
  tokens: TokenSource;
  memory: Memory;
  texts: Texts;
  /** The site's id for the visitor. Null if the widget should generate an id for this tab. */
  user_id: string | null;
  /** Unverified facts about the page and the visitor. */
  metadata(): Record<string, string>;
  changed(): void;
}

type AnswerEntry = Extract<Entry, { from: 'agent' }>;

/** The state of a question whose answer got no response. Another message leaves the question open. */
const STATE_IN_DOUBT: Readonly<Partial<Record<QuestionState, QuestionState>>> = {
  sending: 'unknown',
  refusing: 'unknown',
  words: 'open',
};

function withoutQuestion(text: string, asks: Question | undefined): string {
  return asks?.begins_at ? text.slice(0, asks.begins_at).trimEnd() : asks?.begins_at === 0 ? '' : text;
}

const REPLACED = new DOMException('the conversation was left', 'AbortError');

/** One conversation of this tab: its entries, its person, and the message that is being answered. */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #transcript = new Transcript();
  /** The data that is stored. Its entries are the entries of the transcript. */
  #kept: Kept;
  /** The conversation that the visitor has just left. */
  #left: Kept | null = null;
  #run: AbortController | null = null;
  #phase: Connection = 'connecting';
  readonly #reach: Reach;
  /** The data of the event `actions` of the answer that is being written. */
  #actions: EventData | null = null;
  /** The name of the person whose token the current message carries. Null if nobody is signed in. */
  #name: string | null = null;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#kept = this.#fresh(false);
    this.#transcript.take(this.#kept.entries);
    parts.memory.follow(
      (kept) => this.#follow(kept),
      // The first message in another tab begins the conversation of all tabs.
      () => {
        if (this.#kept.entries.length === 0) void this.recall(true).then(() => this.#changed());
      },
    );
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
      entries: this.#transcript.entries,
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
   * @param isElsewhere see `#goOn`
   */
  async recall(isElsewhere = false): Promise<void> {
    const { memory, tokens, user_id } = this.#parts;
    let person = memory.needsPerson ? personOf(await tokens.current()) : null;
    // If the site could not say who is signed in, nothing is shown, and nothing is deleted.
    const kept = memory.needsPerson && !tokens.isKnown ? null : await memory.recall(person);
    const open = kept?.open === true || memory.wasOpen;
    if (kept === null) {
      this.#kept.open = memory.wasOpen;
      return this.#goOn();
    }
    if (kept.person !== null) person = personOf(await tokens.current());
    const own = user_id === null || user_id === kept.user_id;
    if (!own || (kept.person !== null && person !== kept.person)) {
      this.#takeUp(this.#fresh(open));
      this.#keep();
      return;
    }
    this.#takeUp({ ...kept, open: memory.wasOpen });
    this.#goOn(isElsewhere);
  }

  /** Shows what another tab has stored. While this tab receives an answer itself, it continues with that. */
  #follow(kept: Kept | null): void {
    if (this.#run !== null) return;
    if (kept === null) {
      void this.identityChanged();
      return;
    }
    this.#takeUp({ ...kept, open: this.#kept.open });
    this.#goOn(true);
    this.#changed();
  }

  /**
   * Called when the page is shown again, or when the device is connected again. Somebody may have signed in or out in
   * the meantime.
   * @param wasFrozen whether the browser kept the page while it showed other pages. One of them may have continued the
   *   conversation with a newer session id.
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

  /**
   * Sends the text of the visitor.
   * @returns false if the text is blank, or if an answer is still being written
   */
  send(text: string): boolean {
    const message = text.trim();
    if (message === '' || this.#run !== null) return false;
    this.#left = null;
    void this.#sendNew(message);
    return true;
  }

  /** Answers the question of an entry with one of its buttons. */
  async answer(entry_id: number, approve: boolean): Promise<void> {
    const entry = this.#transcript.find(entry_id);
    if (entry?.from !== 'agent' || entry.asks?.state !== 'open' || this.#run !== null) return;
    const { id } = entry.asks;
    entry.asks.state = approve ? 'sending' : 'refusing';
    this.#left = null;
    // The message has no text: it contains only the answer.
    const metadata = { ...this.#parts.metadata(), confirm: { id, approve } };
    await this.#deliver({ ...this.#pendingFor(''), metadata });
  }

  /** Rates the answer of an entry. @returns false if the service did not take the rating */
  async rate(entry_id: number, rating: 1 | -1): Promise<boolean> {
    const entry = this.#transcript.find(entry_id) as AnswerEntry;
    const { tokens, service } = this.#parts;
    const { message_id } = entry;
    const token = await tokens.current();
    const { session_id } = this.#kept;
    const isTaken = await service.rate({ session_id, message_id, rating }, token);
    if (isTaken) entry.rating = rating;
    this.#keep();
    this.#changed();
    return isTaken;
  }

  /** Retries the message that has no answer yet. */
  async retry(): Promise<void> {
    const { pending } = this.#kept;
    if (pending && this.#run === null) await this.#deliver(pending);
  }

  /** Sends a message that was not delivered. It moves to the end of the transcript. */
  async resend(id: number): Promise<void> {
    const { entries, session_id } = this.#kept;
    const entry = this.#transcript.find(id);
    if (entry?.from !== 'visitor' || !entry.undelivered || this.#run !== null) return;
    const { undelivered, text } = entry;
    entries.splice(entries.indexOf(entry), 1);
    this.#add('visitor', text);
    // Within a session, the service answers a repeated message only once. In a different session, it is a new message.
    await this.#deliver(undelivered.session_id === session_id ? undelivered : this.#pendingFor(text));
  }

  /** Stops the answer that is being written. The text that has arrived remains. */
  async stop(): Promise<void> {
    const run = this.#run;
    const stream_id = this.#kept.pending?.stream_id ?? null;
    if (run === null) return;
    const told = stream_id !== null && (await this.#parts.delivery.stop(stream_id));
    // The stream reports its own end. If the request to stop did not reach the service, the widget leaves the stream.
    if (told || this.#run !== run) return;
    this.#finish({ response: '', session_id: '', stopped: true });
    run.abort(REPLACED);
  }

  /**
   * Begins a new conversation. The last conversation can be restored until the visitor sends a message in the new
   * conversation.
   */
  startOver(): void {
    const left = { ...this.#kept, pending: this.#run ? null : this.#kept.pending };
    this.#transcript.settle('stopped');
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

  /**
   * Leaves this conversation and begins another.
   * @param notice text for the visitor
   */
  #restart(notice: string): void {
    const stream_id = this.#run ? this.#kept.pending?.stream_id : null;
    if (stream_id) void this.#parts.delivery.stop(stream_id);
    this.#leaveRun();
    this.#takeUp({ ...this.#fresh(this.#kept.open), person: this.#kept.person });
    this.#add('widget', notice);
  }

  #takeUp(kept: Kept): void {
    this.#kept = kept;
    this.#left = null;
    this.#transcript.take(kept.entries);
  }

  /**
   * Requests the answer that a restored conversation still waits for.
   * @param isElsewhere whether another tab has sent the message. Its answer can be read when its stream has a name.
   */
  #goOn(isElsewhere = false): void {
    if (isElsewhere && !this.#kept.pending?.stream_id) return;
    const { pending, trouble } = this.#kept;
    if (trouble?.automatic) this.#reach.lost();
    else if (pending && trouble === null) void this.#deliver(pending);
  }

  #leaveRun(): void {
    this.#run?.abort(REPLACED);
    this.#run = null;
  }

  /**
   * Continues with the person of the token. If the conversation belongs to another person, begins a new one.
   * @returns whether a new conversation began
   */
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
    this.#add('visitor', message);
    await this.#deliver(this.#pendingFor(message), true);
  }

  /** @param isNew whether the person who is signed in has just written the message */
  async #deliver(pending: Pending, isNew = false): Promise<void> {
    const run = new AbortController();
    this.#run = run;
    const { confirm } = pending.metadata;
    for (const asks of this.#transcript.unsettled()) {
      if (typeof confirm === 'object' && confirm.id === asks.id)
        asks.state = confirm.approve ? 'sending' : 'refusing';
      else if (asks.state === 'open') asks.state = 'words';
    }
    this.#actions = null;
    this.#phase = 'connecting';
    this.#kept.trouble = null;
    this.#kept.pending = pending;
    if (pending.after > 0) this.#transcript.resume();
    this.#transcript.answer();
    this.#transcript.mark(undefined);
    this.#changed();
    try {
      const token = await this.#parts.tokens.current();
      run.signal.throwIfAborted();
      this.#name = nameOf(token);
      if (this.#followPerson(token)) {
        // A message of the previous person must not be sent in the name of the next person.
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

  /** Ignores events of a run that is no longer current. */
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
          this.#transcript.answer().text += piece;
        }),
      tool: (name, status, data = {}) =>
        heard(() => {
          const entry = this.#transcript.answer();
          const { title, credentials, sign_in_needed } = data;
          noteTool(entry.tools, {
            ...{ name, status, needs_sign_in: sign_in_needed === true },
            title: typeof title === 'string' ? title : undefined,
          });
          // What a person's credentials showed is more than what the default credentials show.
          if (credentials === 'user' || credentials === 'exchange') entry.acted_as = this.#name;
          else if (credentials === 'default') entry.acted_as ??= null;
        }),
      confirmation: (_id, data) =>
        heard(() => {
          const entry = this.#transcript.answer();
          entry.asks = questionIn(data, this.#name);
          entry.text = withoutQuestion(entry.text, entry.asks);
        }),
      actions: (data) => {
        this.#actions = data;
      },
      connected: (yes) =>
        heard(() => {
          this.#phase = yes ? 'answering' : pending.after > 0 ? 'reconnecting' : 'connecting';
        }),
    };
  }

  #finish({ response, session_id, stopped, message_id }: StreamEnd): void {
    const entry = this.#transcript.answer();
    entry.message_id = message_id;
    // An empty reply never replaces text that was shown.
    if (response !== '') entry.text = withoutQuestion(response, entry.asks);
    this.#settleQuestions(entry);
    this.#followSession(session_id);
    this.#kept.pending = null;
    this.#transcript.settle(stopped ? 'stopped' : 'done');
    this.#run = null;
    this.#keep();
    this.#changed();
  }

  /** Notes what became of the questions that the answered message was about. */
  #settleQuestions({ asks: next, tools }: AnswerEntry): void {
    for (const asks of this.#transcript.unsettled()) {
      if (asks === next || asks.state === 'unknown') continue;
      // The confirmed call is made first. Later calls are the agent's.
      const [first] = asks.actions.length === 1 ? tools : [];
      const made = { completed: 'done', failed: 'failed', started: 'unknown' } as const;
      const outcome =
        outcomeIn(this.#actions) ?? (asks.state === 'words' || !first ? null : made[first.status]);
      asks.state =
        asks.id === next?.id ? 'repeated' : asks.state === 'refusing' ? 'declined' : (outcome ?? 'closed');
      asks.at = Date.now();
    }
  }

  #fail(failure: Failure, pending: Pending): void {
    const { code, over, retryAfter, status } = failure;
    this.#run = null;
    this.#transcript.settle('interrupted');
    for (const asks of this.#transcript.unsettled()) {
      const gone = code === 'confirmation_gone';
      asks.state = gone
        ? asks.expires_at < Date.now()
          ? 'expired'
          : 'closed'
        : (STATE_IN_DOUBT[asks.state] ?? asks.state);
    }
    if (code === 'session_forbidden' && pending.session_id !== null) {
      // The session belongs to somebody else and nothing was run: send the message in a new session.
      this.#restart(this.#parts.texts.restarted);
      this.send(pending.message);
      return;
    }
    if (code === 'confirmation_gone') {
      // Another attempt would find no open question.
      this.#kept.pending = null;
      this.#add('widget', wordsForFailure(this.#parts.texts, code));
      return;
    }
    // If the run has ended, another attempt sends a new message. Otherwise, it repeats the request.
    if (over) this.#kept.pending = { ...this.#pendingFor(pending.message), metadata: pending.metadata };
    if (!over && pending.stream_id === null && !TAKEN.includes(status)) this.#transcript.mark(pending);
    this.#kept.trouble = this.#troubleOf(failure);
    if (PASSING.includes(code)) this.#reach.lost(retryAfter * 1000);
    else this.#reach.found();
    this.#keep();
    this.#changed();
  }

  /** The next message is sent to the session that the service named most recently. */
  #followSession(session_id: string): void {
    if (session_id !== '') this.#kept.session_id = session_id;
  }

  #troubleOf({ code, retryAfter }: Failure): Trouble {
    return {
      text: wordsForFailure(this.#parts.texts, code),
      remedy: code === 'turn_limit' ? 'anew' : code === 'body_too_large' ? 'edit' : 'again',
      at: Date.now() + retryAfter * 1000,
      automatic: PASSING.includes(code),
    };
  }

  #fresh(open: boolean): Kept {
    const user_id = this.#parts.user_id ?? `visitor-${randomId()}`;
    return { user_id, session_id: null, person: null, entries: [], pending: null, trouble: null, open };
  }

  #add(from: 'visitor' | 'widget', text: string): void {
    this.#transcript.add(from, text);
    this.#keep();
    this.#changed();
  }

  #keep(): void {
    this.#parts.memory.keep(this.#kept);
  }

  #changed(): void {
    this.#parts.changed();
  }
}
