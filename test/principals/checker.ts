import { isCovered, type Origin, type Person, type SignOut } from './tokens.ts';

/**
 * The checker knows what the service must do according to its rules, independently of its code: to whom the session of
 * a message belongs, for whom the message acts, which earlier turns its run gets, and who may read a stream. It follows
 * a history operation by operation. It gets the observed result of each operation, and reports what is wrong with it.
 *
 * It computes exactly what a reply must contain. More is a leak, and less is a loss.
 */
export interface Problem {
  kind: 'leak' | 'identity' | 'not refused' | 'refused' | 'loss' | 'session' | 'unanswered' | 'token';
  text: string;
}

/** How the sender of an operation proves who they are. */
export type Presented =
  | { kind: 'none' }
  /** An explicit `jwt_token: null`. */
  | { kind: 'signed-out' }
  /** `expired` is the person of a token that has expired, or null for any other invalid token. */
  | { kind: 'invalid'; expired: Person | null }
  | { kind: 'person'; person: Person; expires: number; origin: Origin };

export interface WebMessage {
  address: string;
  user: string;
  /** The session that the client names. */
  named: string | null;
  presented: Presented;
  mark: string;
  /** The whole text. */
  text: string;
  /** Whether the agent fails. */
  fails: boolean;
  /** The number of calls to the business API that the run makes if it acts for a person. */
  calls: number;
  /** `Idempotency-Key` */
  key: string | null;
}

/** A message that is answered on a stream. */
export interface StreamedMessage extends WebMessage {
  /** The person of the cookie that was sent with the message, if there was only one cookie and it was valid. */
  cookie: Person | null;
}

/** A request that reads or stops a stream. */
export interface StreamRequest {
  stream: string;
  method: 'GET' | 'DELETE';
  /** Whether the request comes from a page that is not allowed to read the stream, according to its headers. */
  isForeign: boolean;
  /** The credential of the only cookie. If there are several cookies, none of them counts. */
  cookie: Presented;
  query: Presented;
  /** `Last-Event-ID`, or null if the request has none. */
  after: number | null;
}

/** The observed result of a request. */
export interface Seen {
  status: number;
  /** The code of the problem document, or of the `error` event of the stream. */
  code: string | null;
  session_id: string | null;
  /** The marks in the whole response. */
  marks: readonly string[];
  /** The name of the person for whom the run acted. It is null without sign-in, and undefined if there was no reply. */
  actedFor: string | null | undefined;
  /** The marks of the earlier messages that the run got as messages, and not as quotes from before sign-in. */
  said: readonly string[];
  replayed: boolean;
  /** Whether the response contains something that looks like a token. */
  hasToken: boolean;
  /** Whether another request was in progress. The response may then say that the same message is being answered. */
  isConcurrent: boolean;
}

/** The observed result of the request that posts a message for a stream. */
export interface SeenAsked {
  status: number;
  code: string | null;
  stream: string | null;
  isConcurrent: boolean;
}

/** When a run was cut off: before it called the business API, or after. */
export type CutOff = 'before-calls' | 'after-calls';

export interface Turn {
  person: Person | null;
  /** The mark of its text. */
  mark: string;
  /** The marks of its text and its reply. */
  marks: readonly string[];
}

export interface Session {
  /** Null if the client does not know the id because the run failed. */
  id: string | null;
  /** Ids from before sign-in. */
  former: string[];
  kind: 'generated' | 'chosen' | 'platform';
  user: string;
  owner: Person | null;
  /** The stored context. */
  bound: { person: Person; user: string; expires: number; origin: Origin } | null;
  turns: Turn[];
}

interface Answer {
  fingerprint: string;
  session_id: string;
  marks: readonly string[];
  actedFor: string | null | undefined;
  /** The only person who may get the answer, or null if anybody with the key may get it. */
  reader: Person | null;
}

interface Stream {
  id: string;
  message: StreamedMessage;
  keptUnder: string | null;
  state: 'waiting' | 'ended';
  /** Whether it was stopped before its reply. */
  isStopped: boolean;
  owner: Person | null;
  /** Whether its owner was set by a token in the query. */
  byQuery: boolean;
  /** The answer that later readers of the stream get. Null while nobody has opened or stopped the stream. */
  answer: Omit<Answer, 'fingerprint' | 'reader'> | null;
  /** The id of the session: before the run, the session that the message names; after it, the session of the run. */
  session_id: string | null;
  /** Whether it was posted with an id from before sign-in, and without the owner's token. */
  namesFormer: boolean;
  fingerprint: string;
}

export interface State {
  hour: number;
  sessions: Session[];
  streams: Stream[];
  answers: Map<string, Answer>;
  /**
   * The fingerprint of the last message that ran with each key. It is kept for one hour, even if the message failed.
   */
  tried: Map<string, string>;
  signOuts: SignOut[];
  /** How often each person's token was used. */
  calls: Map<Person, number>;
}

/** The marks that a run must have received. */
export interface Shown {
  mark: string;
  marks: string[];
  said: string[];
}

/** The result of a message. */
type Outcome =
  | { refused: true }
  | ({
      refused: false;
      session: Session;
      /** Whether the id in the reply was created for this message. */
      hasNewId: boolean;
      person: Person | null;
    } & Shown);

/** Ids that only a channel can assign. */
const CHANNEL_ID = /^(?:webchat|sse|teamchat|phonechat|msgbot):/;
const GENERATED = /^(?:webchat|sse)_(.+)_[A-Za-z0-9_-]{22,}$/s;

export class Checker {
  protected state: State = {
    hour: 0,
    sessions: [],
    streams: [],
    answers: new Map(),
    tried: new Map(),
    signOuts: [],
    calls: new Map(),
  };
  protected readonly names: { nameOf(person: Person): string; dataOf(person: Person): string };

  constructor(names: { nameOf(person: Person): string; dataOf(person: Person): string }) {
    this.names = names;
  }

  /** Copies the state, to try another order of concurrent operations. */
  copy(): this {
    const copy = new (this.constructor as typeof Checker)(this.names) as this;
    copy.state = structuredClone(this.state);
    return copy;
  }

  /** A text that is the same for equal states. */
  get fingerprint(): string {
    return JSON.stringify(this.state, (_key, value: unknown) => (value instanceof Map ? [...value] : value));
  }

  get hour(): number {
    return this.state.hour;
  }

  /** How often the business API must have been called with each person's token. */
  get calls(): ReadonlyMap<Person, number> {
    return this.state.calls;
  }

  /**
   * Lets an hour pass. Sessions live for a day, links for a month, streams for five minutes, the answers of anonymous
   * clients for an hour.
   */
  passHour(): void {
    const { answers } = this.state;
    this.state.hour += 1;
    this.state.streams = [];
    this.state.tried.clear();
    for (const key of answers.keys()) if (isOfAnonymous(key)) answers.delete(key);
  }

  /** The person has signed out at the site: tokens that this covers are of no use any more. */
  signOut(signOut: SignOut): void {
    this.state.signOuts.push(signOut);
  }

  /** What a credential proves now. */
  protected valid(presented: Presented): Presented {
    const isSignedOut = presented.kind === 'person' && isCovered(presented.origin, this.state.signOuts);
    return isSignedOut ? { kind: 'invalid', expired: null } : presented;
  }

  /**
   * Checks a message that is answered in its response.
   * @param calls how often its run called the business API, if a sign-out at the same time kept it from further calls
   */
  message(sent: WebMessage, seen: Seen, calls: number | null = null): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented), ...(calls === null ? {} : { calls }) };
    if (seen.hasToken) return [TOKEN_TOLD];
    const key = keyOf(message);
    if (key !== null && isStillRunning(seen)) return [];
    const fingerprint = fingerprintOf(message);
    if (this.#isReused(key, fingerprint, seen)) return [];
    if (key !== null) {
      const known = this.state.answers.get(key);
      const stream = this.state.streams.find(({ keptUnder }) => keptUnder === key);
      const first = known?.fingerprint ?? stream?.fingerprint;
      if (first !== undefined && first !== fingerprint) return expectCode(seen, 422);
      if (known && isOfAnotherReader(known, message)) return expectRefusal(seen);
      if (known) return expectAnswer(seen, known, { replayed: true });
    }
    const outcome = this.#speak(message);
    if (outcome.refused) return expectRefusal(seen);
    const problems = this.#settle(message, outcome, seen);
    if (problems.length === 0 && key !== null && seen.session_id !== null) {
      const { session_id, marks, actedFor } = seen;
      this.state.answers.set(key, { fingerprint, session_id, marks, actedFor, reader: null });
    }
    return problems;
  }

  /**
   * Whether a message was refused because it has the key of another message, which may have failed. The rules do not
   * say how a restarted daemon treats the keys of failed requests, because it remembers only answered requests.
   */
  #isReused(key: string | null, fingerprint: string, { status, code }: SeenAsked | Seen): boolean {
    if (key === null) return false;
    const { tried } = this.state;
    const isRefused = status === 422 && code === 'idempotency_key_reused';
    if (!isRefused) tried.set(key, fingerprint);
    return isRefused && tried.has(key) && tried.get(key) !== fingerprint;
  }

  /** Checks a message that is stored until its stream is opened. */
  ask(sent: StreamedMessage, seen: SeenAsked): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented) };
    const key = keyOf(message);
    if (key !== null && isStillRunning(seen)) return [];
    const fingerprint = fingerprintOf(message);
    if (this.#isReused(key, fingerprint, seen)) return [];
    const answered = (problems: Problem[] = []): Problem[] =>
      seen.status === 200 && seen.stream !== null
        ? problems
        : [{ kind: 'refused', text: `an allowed message was answered ${seen.status} ${seen.code}` }];
    if (key !== null) {
      const stream = this.state.streams.find(({ keptUnder }) => keptUnder === key);
      const known = this.state.answers.get(key);
      const first = stream?.fingerprint ?? known?.fingerprint;
      if (first !== undefined && first !== fingerprint) return expectCode(seen, 422);
      if (stream) {
        return answered(
          seen.stream === stream.id
            ? []
            : [{ kind: 'session', text: 'a repeated message got a different stream' }],
        );
      }
    }
    const known = key === null ? undefined : this.state.answers.get(key);
    if (known ? isOfAnotherReader(known, message) : this.#isRefused(message)) {
      return seen.status === 403 ? [] : [{ kind: 'not refused', text: NOT_REFUSED }];
    }
    const problems = answered();
    if (problems.length > 0 || seen.stream === null) return problems;
    const { presented } = message;
    // With the owner's token, an id from before sign-in gives access to the session, even if the stream is opened
    // without the token.
    const found = this.#find(message);
    const named = found.session?.id ?? message.named;
    this.state.streams.push({
      id: seen.stream,
      message: { ...message, named },
      keptUnder: key,
      state: 'waiting',
      isStopped: false,
      owner: presented.kind === 'person' ? presented.person : null,
      byQuery: false,
      answer: null,
      session_id: named,
      namesFormer: found.treatedAsUnnamed,
      fingerprint,
    });
    return [];
  }

  /**
   * Checks a request that opens a stream and reads it to its end, or stops it.
   * @param cutOff another explanation if a stop was sent at the same time: the run had begun, and the stop ended it.
   * Then the session belongs to the person who opened the stream, and the turn has the text written so far.
   */
  stream(sent: StreamRequest, seen: Seen, cutOff: CutOff | null = null): Problem[] {
    const request = { ...sent, cookie: this.valid(sent.cookie), query: this.valid(sent.query) };
    if (seen.hasToken) return [TOKEN_TOLD];
    const stream = this.state.streams.find(({ id }) => id === request.stream);
    if (request.isForeign) return seen.status === 404 && !stream ? [] : expectRefusal(seen);
    if (!stream) return expectCode(seen, 404);
    const { message } = stream;
    const cookie = message.presented.kind === 'signed-out' ? NONE : request.cookie;
    const isMeant =
      personOf(cookie) !== null && [personOf(message.presented), message.cookie].includes(personOf(cookie));
    const counted = isMeant ? cookie : NONE;
    const chosen = counted.kind === 'none' ? request.query : counted;
    if (stream.keptUnder !== null && isStillRunning(seen)) {
      if (seen.status === 200) this.#endUnanswered(stream, personOf(chosen), chosen === request.query);
      return [];
    }
    const people = [personOf(cookie), personOf(request.query)].filter((person) => person !== null);
    const isOfAnother = people.some((person) => this.#isOfAnother(stream, person));
    // If a message gives the session to somebody else at the same time, the run can begin, and then be refused.
    const isRefusedByRun =
      seen.isConcurrent && seen.code === 'session_forbidden' && stream.state === 'waiting';
    if (isOfAnother && !isRefusedByRun) return expectRefusal(seen);
    if (cutOff !== null) {
      if (!stream.isStopped)
        return [{ kind: 'unanswered', text: 'a run was cut off, but nobody had stopped it' }];
      return this.#cutOff(stream, chosen, { isQuery: chosen === request.query, cutOff }, seen);
    }
    if (stream.state === 'ended') {
      const readers = [cookie, request.query];
      if (stream.byQuery && personOf(chosen) !== stream.owner) {
        // The rules do not say what the owner gets with a cookie that does not count, or when reading with an expired
        // token.
        const isOwner = readers.some(
          (one) => (request.method === 'GET' ? formerPersonOf(one) : personOf(one)) === stream.owner,
        );
        if (!isOwner || seen.status === 403) return expectRefusal(seen);
      }
      return this.#readAgain(stream, request, seen);
    }
    if (request.method === 'DELETE') {
      stream.state = 'ended';
      stream.isStopped = true;
      stream.answer = { session_id: '', marks: [], actedFor: undefined };
      return expectCode(seen, 204);
    }
    return this.#run(stream, chosen, chosen === request.query, seen);
  }

  // The owner of the session, and the person of the turn

  /**
   * Finds the session of a message by the id in the message. The session is null if it must be created, with that id or
   * a new id.
   */
  #find({ named, presented }: WebMessage): { session: Session | null; treatedAsUnnamed: boolean } {
    const session = this.state.sessions.find(({ id }) => id !== null && id === named);
    if (session) return { session, treatedAsUnnamed: false };
    const formerly = this.state.sessions.find(({ former }) => named !== null && former.includes(named));
    if (!formerly) return { session: null, treatedAsUnnamed: false };
    const isOwners = personOf(presented) === formerly.owner;
    return isOwners
      ? { session: formerly, treatedAsUnnamed: false }
      : { session: null, treatedAsUnnamed: true };
  }

  #isRefused(message: WebMessage): boolean {
    const { named, user, presented } = message;
    if (named !== null && CHANNEL_ID.test(named)) return true;
    const { session } = this.#find(message);
    if (!session) return false;
    const person = personOf(presented);
    return session.user !== user || (person !== null && session.owner !== null && session.owner !== person);
  }

  #speak(message: WebMessage): Outcome {
    if (this.#isRefused(message)) return { refused: true };
    const { named, user, presented, mark } = message;
    const found = this.#find(message);
    let { session } = found;
    let hasNewId = false;
    if (!session) {
      const isGenerated = named === null || found.treatedAsUnnamed;
      session = {
        id: isGenerated ? null : named,
        former: [],
        kind: isGenerated ? 'generated' : 'chosen',
        user,
        owner: personOf(presented),
        bound: null,
        turns: [],
      };
      this.state.sessions.push(session);
      hasNewId = isGenerated;
    } else if (presented.kind === 'person' && session.owner === null) {
      session.owner = presented.person;
      if (session.kind === 'generated') {
        if (session.id !== null) session.former.push(session.id);
        session.id = null;
        hasNewId = true;
      }
    } else if (session.id === null) hasNewId = true;
    const person = this.#bind(session, user, presented);
    return {
      refused: false,
      session,
      hasNewId,
      person,
      ...this.shownTo(session, person, mark, message.calls),
    };
  }

  /** Returns the person for whom the message acts. Sets, keeps or clears the stored context. */
  #bind(session: Session, user: string, presented: Presented): Person | null {
    switch (presented.kind) {
      case 'person':
        session.bound = { ...presented, user };
        return presented.person;
      case 'invalid':
      case 'signed-out':
        session.bound = null;
        return null;
      case 'none': {
        const { bound } = session;
        if (session.kind !== 'generated' || bound === null) return null;
        if (bound.expires > this.state.hour && !isCovered(bound.origin, this.state.signOuts))
          return bound.person;
        session.bound = null;
        return null;
      }
    }
  }

  /**
   * Returns the marks that a run gets: the marks of its message, of the turns that it may see, and of the data of its
   * person.
   */
  protected shownTo(session: Session, person: Person | null, mark: string, calls = 1): Shown {
    const shown = session.turns.filter(
      (turn) => turn.person === person || (turn.person === null && session.kind !== 'chosen'),
    );
    const own = person === null || calls === 0 ? [] : [this.names.dataOf(person)];
    const isQuoted = (turn: Turn) => turn.person !== person && session.kind !== 'platform';
    return {
      mark,
      // An answer to a question has no mark.
      marks: [...new Set([mark, ...own, ...shown.flatMap(({ marks }) => marks)])].filter(Boolean).sort(),
      said: shown.filter((turn) => !isQuoted(turn)).flatMap((turn) => turn.mark || []),
    };
  }

  #settle(message: WebMessage, outcome: Exclude<Outcome, { refused: true }>, seen: Seen): Problem[] {
    const { session, hasNewId } = outcome;
    if (message.fails) {
      // A stream names its session before its run fails.
      if (hasNewId) session.id = seen.session_id;
      this.count(outcome.person, message.calls);
      return expectCode(seen, 502);
    }
    if (seen.status !== 200) {
      return [{ kind: 'refused', text: `a message was answered ${seen.status} ${seen.code}` }];
    }
    if (hasNewId) {
      const problem = this.#newIdProblem(seen.session_id, message.user);
      if (problem !== null) return [{ kind: 'session', text: problem }];
      session.id = seen.session_id;
    } else if (seen.session_id !== session.id) {
      return [{ kind: 'session', text: 'the reply names a different session than its message' }];
    }
    if (seen.replayed) return [{ kind: 'session', text: 'a new message got an earlier answer' }];
    return this.end(outcome, message.calls, seen);
  }

  #newIdProblem(id: string | null, user: string): string | null {
    if (id === null) return 'the reply names no session';
    if (this.state.sessions.some((one) => one.id === id || one.former.includes(id)))
      return 'the reply names a known id, but a new id was expected';
    return GENERATED.exec(id)?.[1] === user ? null : `${id} does not have the documented form`;
  }

  protected end(
    { session, person, mark, marks, said }: { session: Session; person: Person | null } & Shown,
    calls: number,
    seen: Seen,
  ): Problem[] {
    this.count(person, calls);
    session.turns.push({ person, mark, marks });
    const expected = person === null ? null : this.names.nameOf(person);
    const problems = marksProblems(seen.marks, marks);
    for (const one of seen.said.filter((mark) => !said.includes(mark))) {
      problems.push({ kind: 'leak', text: `${one} is shown as said by the person, but was not` });
    }
    if (seen.actedFor !== expected) {
      problems.unshift({
        kind: 'identity',
        text: `the message acted for ${seen.actedFor ?? 'nobody'}, but must act for ${expected ?? 'nobody'}`,
      });
    }
    return problems;
  }

  protected count(person: Person | null, calls: number): void {
    if (person !== null) this.state.calls.set(person, (this.state.calls.get(person) ?? 0) + calls);
  }

  // Streams

  /** Whether the stream belongs to another person, according to its message, its owner or its session. */
  #isOfAnother({ message, owner, session_id }: Stream, person: Person): boolean {
    const named = this.state.sessions.find(({ id }) => id !== null && id === session_id);
    return [personOf(message.presented), owner, named?.owner ?? null].some(
      (one) => one !== null && one !== person,
    );
  }

  /** Checks the request that opens a stream for the first time, so that its message is answered. */
  #run(stream: Stream, chosen: Presented, isQuery: boolean, seen: Seen): Problem[] {
    const { message, keptUnder } = stream;
    const presented = chosen.kind === 'none' ? this.valid(message.presented) : chosen;
    const known = keptUnder === null ? undefined : this.state.answers.get(keptUnder);
    stream.state = 'ended';
    const person = personOf(presented);
    if (known && isOfAnotherReader(known, { presented })) {
      stream.state = 'waiting';
      return expectRefusal(seen);
    }
    if (known) {
      stream.owner = person ?? stream.owner;
      stream.byQuery = isQuery && person !== null && personOf(message.presented) !== person;
      stream.answer = known;
      return expectAnswer(seen, known, { replayed: false });
    }
    // If the opening request has the owner's token, the rules do not say whether an id from before sign-in gives access
    // to the session, or whether the message still counts as a message without a session.
    const isKnown = this.state.sessions.some(({ id }) => id !== null && id === seen.session_id);
    const named = stream.namesFormer && !isKnown ? null : message.named;
    const outcome = this.#speak({ ...message, named, presented });
    const isByQuery = isQuery && person !== null && personOf(message.presented) !== person;
    if (outcome.refused) {
      // A refusal before the run begins is a status. A later refusal is an event. The stream has then ended, and
      // belongs to the person who opened it.
      if (seen.status === 403) stream.state = 'waiting';
      else Object.assign(stream, { keptUnder: null, owner: person ?? stream.owner, byQuery: isByQuery });
      stream.answer = { session_id: seen.session_id ?? '', marks: [], actedFor: undefined };
      return expectRefusal(seen);
    }
    stream.owner = person ?? outcome.person;
    stream.byQuery = isByQuery;
    const problems = this.#settle({ ...message, presented }, outcome, seen);
    const { session_id, marks, actedFor } = seen;
    stream.answer = { session_id: session_id ?? '', marks, actedFor };
    stream.session_id = session_id;
    // A failed message may be sent again with its key.
    if (message.fails) stream.keptUnder = null;
    if (keptUnder !== null && !message.fails && session_id !== null) {
      const { fingerprint } = stream;
      const reader = isByQuery ? person : null;
      this.state.answers.set(keptUnder, { fingerprint, session_id, marks, actedFor, reader });
    }
    return problems;
  }

  /** Checks a stream whose run had begun when the stream was stopped. */
  #cutOff(
    stream: Stream,
    chosen: Presented,
    { isQuery, cutOff }: { isQuery: boolean; cutOff: CutOff },
    seen: Seen,
  ): Problem[] {
    const { message } = stream;
    const presented = chosen.kind === 'none' ? this.valid(message.presented) : chosen;
    const outcome = this.#speak({ ...message, presented });
    if (outcome.refused) return expectRefusal(seen);
    const { session, hasNewId, mark } = outcome;
    const person = personOf(presented);
    if (hasNewId) session.id = seen.session_id;
    stream.owner = person ?? outcome.person;
    stream.byQuery = isQuery && person !== null && personOf(message.presented) !== person;
    stream.session_id = session.id;
    if (cutOff === 'after-calls') this.count(outcome.person, message.calls);
    session.turns.push({ person: outcome.person, mark, marks: [...new Set([mark, ...seen.marks])] });
    return seen.status === 200 ? marksProblems(seen.marks, []) : expectCode(seen, 200);
  }

  /**
   * Ends a stream when its run has found that the same message was being answered over the other channel. The stream
   * then has no further event.
   */
  #endUnanswered(stream: Stream, person: Person | null, isQuery: boolean): void {
    const byQuery = isQuery && person !== null && personOf(stream.message.presented) !== person;
    Object.assign(stream, { state: 'ended', keptUnder: null, owner: person ?? stream.owner, byQuery });
    stream.answer = { session_id: stream.session_id ?? '', marks: [], actedFor: undefined };
  }

  #readAgain(stream: Stream, { method, after }: StreamRequest, seen: Seen): Problem[] {
    if (method === 'DELETE') return expectCode(seen, 204);
    const { answer, message } = stream;
    if (after !== null && after > 1000) return expectCode(seen, 204);
    if (answer === null) return [];
    // The refusal was the only event of the stream.
    if (seen.status === 204 && after !== null && answer.marks.length === 0) return [];
    if (seen.code !== null) {
      // A failed stream reports its failure again.
      return answer.actedFor === undefined || message.fails
        ? marksProblems(seen.marks, [])
        : expectCode(seen, 200);
    }
    return seen.status === 200 ? marksProblems(seen.marks, answer.marks) : expectCode(seen, 200);
  }
}

const NONE: Presented = { kind: 'none' };
const NOT_REFUSED = 'a message in a session that belongs to somebody else or to a platform was not refused';
export const TOKEN_TOLD: Problem = {
  kind: 'token',
  text: 'the response contains something that looks like a token',
};

/** If a token in the address of a stream made a person its owner, only that person may read the answer. */
function isOfAnotherReader({ reader }: Answer, { presented }: Pick<WebMessage, 'presented'>): boolean {
  return reader !== null && reader !== personOf(presented);
}

export function personOf(presented: Presented): Person | null {
  return presented.kind === 'person' ? presented.person : null;
}

/** The person of a token, even if it has expired. */
function formerPersonOf(presented: Presented): Person | null {
  return presented.kind === 'invalid' ? presented.expired : personOf(presented);
}

/** Returns the key, which is separate for each person with a valid token, or for each client address and user id. */
function keyOf({ key, presented, address, user }: WebMessage): string | null {
  if (key === null) return null;
  const sender = presented.kind === 'person' ? ['person', presented.person] : ['client', address, user];
  return JSON.stringify([...sender, key]);
}

/** Whether the key belongs to an anonymous client (`toIdempotencyKey`). */
function isOfAnonymous(key: string): boolean {
  return JSON.parse(key)[0] === 'client';
}

/** Two messages with equal fingerprints are the same message. Tokens do not count. */
function fingerprintOf({ user, named, text }: WebMessage): string {
  return JSON.stringify([user, named, text]);
}

/** Whether the response says that the same message is being answered, because it was sent twice at the same time. */
function isStillRunning({
  isConcurrent,
  status,
  code,
}: Pick<Seen, 'isConcurrent' | 'status' | 'code'>): boolean {
  return isConcurrent && code === 'duplicate_in_progress' && (status === 409 || status === 200);
}

function expectRefusal({ status, code, marks }: Seen): Problem[] {
  if (marks.length > 0) return marksProblems(marks, []);
  const isRefused = status === 403 || (status === 200 && code === 'session_forbidden');
  return isRefused ? [] : [{ kind: 'not refused', text: `it must be refused, but was answered ${status}` }];
}

export function expectCode(
  { status, code }: { status: number; code: string | null },
  wanted: number,
): Problem[] {
  // A stream reports a failed run in an event.
  const isRight = status === wanted || (wanted === 502 && code === 'agent_failed');
  return isRight
    ? []
    : [
        {
          kind: 'refused',
          text: `it was answered ${status} ${code}, but should have been answered ${wanted}`,
        },
      ];
}

function expectAnswer(
  seen: Seen,
  answer: Omit<Answer, 'fingerprint' | 'reader'>,
  { replayed }: { replayed: boolean },
): Problem[] {
  if (seen.status !== 200) return expectCode(seen, 200);
  if (replayed && !seen.replayed)
    return [{ kind: 'session', text: 'a repeated message was answered again instead of replayed' }];
  if (seen.session_id !== answer.session_id)
    return [{ kind: 'session', text: 'the answer to a repeated message names a different session' }];
  return marksProblems(seen.marks, answer.marks);
}

export function marksProblems(seen: readonly string[], expected: readonly string[]): Problem[] {
  const more = seen.filter((mark) => !expected.includes(mark));
  const less = expected.filter((mark) => !seen.includes(mark));
  const problems: Problem[] = [];
  if (more.length > 0) problems.push({ kind: 'leak', text: `it contains ${more.join(', ')}` });
  if (less.length > 0) problems.push({ kind: 'loss', text: `it does not contain ${less.join(', ')}` });
  return problems;
}
