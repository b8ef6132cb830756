import {
  type Expected,
  type Names,
  NOTHING_TOLD,
  type Outcome,
  type Presented,
  type Problem,
  type Seen,
  type SeenAsked,
  type Session,
  type Shown,
  type Spoken,
  type State,
  type Turn,
  type WebMessage,
} from './facts.ts';
import { isCovered, type Person, type SignOut } from './tokens.ts';
import {
  expectAnswer,
  expectCode,
  expectRefusal,
  fingerprintOf,
  isOfAnonymous,
  isOfAnotherReader,
  isStillRunning,
  keyOf,
  marksProblems,
  personOf,
  spoken,
  TOKEN_TOLD,
  toldProblems,
  wrote,
} from './verdicts.ts';

/** Ids that only a channel can assign. */
const CHANNEL_ID = /^(?:webchat|sse|teamchat|phonechat|msgbot):/;
const GENERATED = /^(?:webchat|sse)_(.+)_[A-Za-z0-9_-]{22,}$/s;

/**
 * The checker knows what the service must do according to its rules, independently of its code: to whom the session of
 * a message belongs, for whom the message acts, which earlier turns its run gets, and who may read a stream. It follows
 * a history operation by operation. It gets the observed result of each operation, and reports what is wrong with it.
 *
 * It computes exactly what a reply must contain. More is a leak, and less is a loss.
 */
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
  protected readonly names: Names;

  constructor(names: Names) {
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
   * @param meanwhile what a sign-out at the same time changed: how often the run called the business API, or that the
   * token was valid when the session was found, and no longer when it was decided for whom the message acts
   */
  message(
    sent: WebMessage,
    seen: Seen,
    meanwhile: Pick<WebMessage, 'calls'> | 'found' | null = null,
  ): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented) };
    if (meanwhile === 'found') message.finder = sent.presented;
    else if (meanwhile !== null) message.calls = meanwhile.calls;
    if (seen.hasToken) return [TOKEN_TOLD];
    const key = keyOf(message);
    if (key !== null && isStillRunning(seen)) return [];
    const fingerprint = fingerprintOf(message);
    if (this.isReused(key, fingerprint, seen)) return [];
    if (key !== null) {
      const known = this.state.answers.get(key);
      const stream = this.state.streams.find(({ keptUnder }) => keptUnder === key);
      const first = known?.fingerprint ?? stream?.fingerprint;
      if (first !== undefined && first !== fingerprint) return expectCode(seen, 422);
      if (known && isOfAnotherReader(known, message)) return expectRefusal(seen);
      if (known) return expectAnswer(seen, known, { replayed: true });
    }
    const outcome = this.speak(message);
    if (outcome.refused) return expectRefusal(seen);
    const problems = this.settle(message, outcome, seen);
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
  protected isReused(key: string | null, fingerprint: string, { status, code }: SeenAsked | Seen): boolean {
    if (key === null) return false;
    const { tried } = this.state;
    const isRefused = status === 422 && code === 'idempotency_key_reused';
    if (!isRefused) tried.set(key, fingerprint);
    return isRefused && tried.has(key) && tried.get(key) !== fingerprint;
  }

  // The owner of the session, and the person of the turn

  /**
   * Finds the session of a message by the id in the message. The session is null if it must be created, with that id or
   * a new id.
   */
  protected find({ named, presented, finder = presented }: WebMessage): {
    session: Session | null;
    treatedAsUnnamed: boolean;
  } {
    const session = this.state.sessions.find(({ id }) => id !== null && id === named);
    if (session) return { session, treatedAsUnnamed: false };
    const formerly = this.state.sessions.find(({ former }) => named !== null && former.includes(named));
    if (!formerly) return { session: null, treatedAsUnnamed: false };
    const isOwners = personOf(finder) === formerly.owner;
    return isOwners
      ? { session: formerly, treatedAsUnnamed: false }
      : { session: null, treatedAsUnnamed: true };
  }

  protected isRefused(message: WebMessage): boolean {
    const { named, user, presented } = message;
    if (named !== null && CHANNEL_ID.test(named)) return true;
    const { session } = this.find(message);
    if (!session) return false;
    const person = personOf(presented);
    return session.user !== user || (person !== null && session.owner !== null && session.owner !== person);
  }

  protected speak(message: WebMessage): Outcome {
    if (this.isRefused(message)) return { refused: true };
    const { named, user, presented } = message;
    const found = this.find(message);
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
    return { refused: false, session, hasNewId, person };
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
  protected shownTo({ session, person, mark, calls, business }: Spoken): Shown {
    const shown = session.turns.filter(
      (turn) => turn.person === person || (turn.person === null && session.kind !== 'chosen'),
    );
    const own = person === null || calls === 0 ? [] : [this.names.dataOf(person)];
    const isQuoted = (turn: Turn) => turn.person !== person && session.kind !== 'platform';
    const marks = [...wrote(mark, business), ...own, ...shown.flatMap((turn) => turn.marks)];
    return {
      mark,
      marks: [...new Set(marks)].sort(),
      said: shown.filter((turn) => !isQuoted(turn)).flatMap((turn) => turn.wrote),
    };
  }

  /** Adds the turn of a message to its session. @returns what its reply must contain */
  protected reply(spoken: Spoken): Expected {
    const { session, person, mark, business, calls } = spoken;
    const shown = this.shownTo(spoken);
    session.turns.push({ person, wrote: wrote(mark, business), marks: shown.marks });
    this.count(person, calls);
    return { ...shown, person, isRun: true, told: NOTHING_TOLD };
  }

  /** Compares a reply with what it must contain. */
  protected compare(
    { person, marks, said, isRun, told }: Expected,
    seen: Pick<Seen, 'marks' | 'actedFor' | 'said' | 'told' | 'hasToken'>,
  ): Problem[] {
    if (seen.hasToken) return [TOKEN_TOLD];
    const name = person === null ? null : this.names.nameOf(person);
    const problems = marksProblems(seen.marks, marks);
    for (const one of seen.said.filter((mark) => !said.includes(mark)))
      problems.push({ kind: 'leak', text: `${one} is shown as said by the person, but was not` });
    if (seen.told) problems.unshift(...toldProblems(seen.told, told));
    if (seen.actedFor !== (isRun ? name : undefined)) {
      problems.unshift({ kind: 'identity', text: actedText(seen.actedFor, isRun ? name : undefined) });
    }
    return problems;
  }

  protected settle(message: WebMessage, outcome: Exclude<Outcome, { refused: true }>, seen: Seen): Problem[] {
    const { session, hasNewId } = outcome;
    if (message.fails) {
      // A stream names its session before its run fails.
      this.learnId(outcome, seen);
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
    return this.compare(this.reply(spoken(message, outcome)), seen);
  }

  /** A stream that is stopped before the id of its session changes names the former one. */
  protected learnId({ session, hasNewId }: Exclude<Outcome, { refused: true }>, { session_id }: Seen): void {
    if (hasNewId && !session.former.includes(String(session_id))) session.id = session_id;
  }

  #newIdProblem(id: string | null, user: string): string | null {
    if (id === null) return 'the reply names no session';
    if (this.state.sessions.some((one) => one.id === id || one.former.includes(id)))
      return 'the reply names a known id, but a new id was expected';
    return GENERATED.exec(id)?.[1] === user ? null : `${id} does not have the documented form`;
  }

  protected count(person: Person | null, calls: number): void {
    if (person !== null) this.state.calls.set(person, (this.state.calls.get(person) ?? 0) + calls);
  }
}

/** What is wrong with the person whom a message acted for. See `Seen.actedFor`. */
function actedText(did: string | null | undefined, must: string | null | undefined): string {
  const wanted = must === undefined ? 'be answered by the daemon itself' : `act for ${must ?? 'nobody'}`;
  return did === undefined
    ? `the message was answered by the daemon itself, but must ${wanted}`
    : `the message acted for ${did ?? 'nobody'}, but must ${wanted}`;
}
