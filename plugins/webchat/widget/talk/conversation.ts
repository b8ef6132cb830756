import type { StreamEnd } from '../../../../src/channel/event-stream.ts';
import { type Texts, wordsForFailure } from '../texts.ts';
import { type Delivery, type DeliveryListener, newPending, type Pending } from './deliver.ts';
import { emptyConversation, type Kept } from './memory.ts';
import type { Approval } from './question.ts';
import { Reach } from './reach.ts';
import { type RecallParts, recallOwn } from './recall.ts';
import { Failure, type Service } from './service.ts';
import type { Connection, State } from './state.ts';
import { identifyPerson, readName } from './token.ts';
import { type Answer, Transcript } from './transcript.ts';
import { isUndelivered, toTrouble } from './trouble.ts';
import { writeAnswer } from './write-answer.ts';

export interface ConversationParts extends RecallParts {
  delivery: Delivery;
  service: Service;
  texts: Texts;
  /** Unverified facts about the page and the visitor. */
  metadata(): Record<string, string>;
  changed(): void;
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

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#kept = this.#fresh(false);
    this.#transcript.take(this.#kept.entries);
    parts.memory.follow(
      (kept) => this.#follow(kept),
      // The first message in another tab begins the conversation of all tabs.
      () => {
        if (this.#kept.entries.length === 0) void this.recall(true).then(() => this.#parts.changed());
      },
    );
    this.#reach = new Reach(
      () => parts.service.isReachable(),
      (away) => {
        if (!away && this.#kept.trouble?.automatic) void this.retry();
        this.#parts.changed();
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
    this.keep();
  }

  /**
   * Restores the conversation that this tab stored. A conversation of a signed-in person is shown only after the site
   * has confirmed that this person is still signed in.
   * @param isElsewhere see `#goOn`
   */
  async recall(isElsewhere = false): Promise<void> {
    const { memory } = this.#parts;
    const kept = await recallOwn(this.#parts);
    const open = memory.wasOpen;
    if (kept === null) this.#kept.open = open;
    else this.#takeUp(kept === 'foreign' ? this.#fresh(open) : { ...kept, open });
    if (kept === 'foreign') this.keep();
    this.#goOn(isElsewhere);
  }

  /**
   * Shows what another tab has stored. While this tab receives an answer itself, it continues with that, unless the
   * conversation has ended there: somebody may have signed in or out.
   */
  #follow(kept: Kept | null): void {
    if (kept === null) return void this.#followIdentity();
    if (this.#run !== null) return;
    this.#takeUp({ ...kept, open: this.#kept.open });
    this.#goOn(true);
    this.#parts.changed();
  }

  /** If the visitor has signed in in the other tab, the conversation of all tabs is now that of the person. */
  async #followIdentity(): Promise<void> {
    const token = await this.#parts.tokens.renew();
    if (this.#kept.person === null && this.#run === null) await this.recall(true);
    this.#followPerson(token);
    this.#parts.changed();
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
    this.#parts.changed();
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
  async answer(entry_id: number, approve: Approval): Promise<void> {
    const entry = this.#transcript.find(entry_id);
    if (entry?.from !== 'agent' || entry.asks?.state !== 'open' || this.#run !== null) return;
    const { id } = entry.asks;
    entry.asks.state = approve === false ? 'refusing' : 'sending';
    this.#left = null;
    // The message has no text: it contains only the answer.
    const metadata = { ...this.#parts.metadata(), confirm: { id, approve } };
    await this.#deliver({ ...this.#pendingFor(''), metadata });
  }

  /**
   * Rates the answer of an entry.
   * @param comment what the visitor says about it; empty if nothing
   * @returns false if the service did not take the rating
   */
  async rate(entry_id: number, rating: 1 | -1, comment: string): Promise<boolean> {
    const entry = this.#transcript.find(entry_id) as Answer;
    const token = await this.#parts.tokens.current();
    const ids = { session_id: this.#kept.session_id, message_id: entry.message_id };
    const isTaken = await this.#parts.service.rate({ ...ids, rating, comment }, token);
    if (isTaken) entry.rating = rating;
    this.keep();
    this.#parts.changed();
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
    const told = stream_id !== null && (await this.#parts.service.stop(stream_id));
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
    this.#parts.changed();
  }

  /** Restores the last conversation. */
  undo(): void {
    if (this.#left === null) return;
    this.#takeUp({ ...this.#left, open: this.#kept.open });
    this.#goOn();
    this.keep();
    this.#parts.changed();
  }

  /** Asks the site again who is signed in, so that nobody reads another person's conversation. */
  async identityChanged(): Promise<void> {
    this.#followPerson(await this.#parts.tokens.renew());
  }

  /** Stores the conversation, also the unfinished text when the page is about to close. */
  keep(): void {
    this.#parts.memory.keep(this.#kept);
  }

  /**
   * Leaves this conversation and begins another.
   * @param notice text for the visitor
   */
  #restart(notice: string): void {
    const stream_id = this.#run ? this.#kept.pending?.stream_id : null;
    if (stream_id) void this.#parts.service.stop(stream_id);
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
    const person = identifyPerson(token);
    const before = this.#kept.person;
    const changed = before !== null && person !== before;
    const { texts } = this.#parts;
    if (changed) this.#restart(person === null ? texts.signedOut : texts.personChanged);
    this.#kept.person = person;
    this.keep();
    return changed;
  }

  #pendingFor(message: string): Pending {
    return newPending(this.#kept, message, this.#parts.metadata());
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
    const told = this.#transcript.questionsSent(typeof confirm === 'object' ? confirm : undefined);
    this.#phase = 'connecting';
    this.#kept.trouble = null;
    this.#kept.pending = pending;
    if (pending.after > 0) this.#transcript.resume();
    this.#transcript.answer().told ||= told;
    this.#transcript.mark(undefined);
    this.#parts.changed();
    try {
      const token = await this.#parts.tokens.current();
      run.signal.throwIfAborted();
      if (this.#followPerson(token)) {
        // A message of the previous person must not be sent in the name of the next person.
        if (isNew) await this.#sendNew(pending.message);
        return;
      }
      const listener = this.#listener(run, pending, readName(token));
      const end = await this.#parts.delivery.send(pending, token, listener, run.signal);
      if (this.#run !== run) return;
      this.#finish(end);
      this.#reach.found();
    } catch (error) {
      if (this.#run === run) this.#fail(error instanceof Failure ? error : new Failure('other'), pending);
      if (!(error instanceof Failure) && !run.signal.aborted) throw error;
    }
  }

  /** Ignores events of a run that is no longer current. */
  #listener(run: AbortController, pending: Pending, person: string | null): DeliveryListener {
    const heard =
      <Told extends unknown[]>(tell: (...told: Told) => void) =>
      (...told: Told) => {
        if (this.#run !== run) return;
        tell(...told);
        this.#parts.changed();
      };
    const { text, tool, confirmation, actions } = writeAnswer(this.#transcript, person);
    return {
      text: heard(text),
      tool: heard(tool),
      confirmation: heard(confirmation),
      actions: heard(actions),
      opened: (stream_id) => {
        pending.stream_id = stream_id;
        this.keep();
      },
      taken: (id) => {
        pending.after = id;
      },
      // Sign-in changes the session id; the old id must not be used again.
      started: heard((session_id) => {
        this.#kept.session_id = session_id || this.#kept.session_id;
        this.keep();
      }),
      connected: heard((yes) => {
        this.#phase = yes ? 'answering' : pending.after > 0 ? 'reconnecting' : 'connecting';
      }),
    };
  }

  #finish({ response, session_id, stopped, message_id }: StreamEnd): void {
    const entry = this.#transcript.answer();
    entry.message_id = message_id;
    // An empty reply never replaces text that was shown.
    if (response !== '') entry.text = response;
    this.#transcript.questionsAnswered(entry);
    this.#kept.session_id = session_id || this.#kept.session_id;
    this.#kept.pending = null;
    this.#transcript.settle(stopped ? 'stopped' : 'done');
    this.#run = null;
    this.keep();
    this.#parts.changed();
  }

  #fail(failure: Failure, pending: Pending): void {
    const { code, over, retryAfter } = failure;
    const { texts } = this.#parts;
    const gone = code === 'confirmation_gone';
    this.#run = null;
    this.#transcript.settle('interrupted');
    this.#transcript.questionsFailed(gone);
    if (code === 'session_forbidden' && pending.session_id !== null) {
      // The session belongs to somebody else and nothing was run: send the message in a new session.
      this.#restart(texts.restarted);
      this.send(pending.message);
      return;
    }
    if (gone) {
      // Another attempt would find no open question.
      this.#kept.pending = null;
      this.#add('widget', wordsForFailure(texts, code));
      return;
    }
    // If the run has ended, another attempt sends a new message. Otherwise, it repeats the request.
    if (over) this.#kept.pending = { ...this.#pendingFor(pending.message), metadata: pending.metadata };
    if (pending.stream_id === null && isUndelivered(failure)) this.#transcript.mark(pending);
    const trouble = toTrouble(failure, texts);
    this.#kept.trouble = trouble;
    if (trouble.automatic) this.#reach.lost(retryAfter * 1000);
    else this.#reach.found();
    this.keep();
    this.#parts.changed();
  }

  #fresh(open: boolean): Kept {
    return emptyConversation(this.#parts.user_id, open);
  }

  #add(from: 'visitor' | 'widget', text: string): void {
    this.#transcript.add(from, text);
    this.keep();
    this.#parts.changed();
  }
}
