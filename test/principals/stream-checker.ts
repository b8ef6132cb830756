import { Checker } from './checker.ts';
import type {
  CutOff,
  Presented,
  Problem,
  Seen,
  SeenAsked,
  Stream,
  StreamedMessage,
  StreamRequest,
} from './facts.ts';
import type { Person } from './tokens.ts';
import {
  expectAnswer,
  expectCode,
  expectRefusal,
  fingerprintOf,
  formerPersonOf,
  isOfAnotherReader,
  isStillRunning,
  keyOf,
  marksProblems,
  NONE,
  NOT_REFUSED,
  personOf,
  TOKEN_TOLD,
} from './verdicts.ts';

/** The rules of streams: messages that are stored until a request opens their stream. See `Checker`. */
export class StreamChecker extends Checker {
  /** Checks a message that is stored until its stream is opened. */
  ask(sent: StreamedMessage, seen: SeenAsked): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented), cookie: this.valid(sent.cookie) };
    const key = keyOf(message);
    if (key !== null && isStillRunning(seen)) return [];
    const fingerprint = fingerprintOf(message);
    if (this.isReused(key, fingerprint, seen)) return [];
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
    if (known ? isOfAnotherReader(known, message) : this.isRefused(message)) {
      return seen.status === 403 ? [] : [{ kind: 'not refused', text: NOT_REFUSED }];
    }
    const problems = answered();
    if (problems.length > 0 || seen.stream === null) return problems;
    const { presented } = message;
    // With the owner's token, an id from before sign-in gives access to the session, even if the stream is opened
    // without the token.
    const found = this.find(message);
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
      personOf(cookie) !== null &&
      [message.presented, message.cookie].map(personOf).includes(personOf(cookie));
    const counted = isMeant ? cookie : NONE;
    const chosen = counted.kind === 'none' ? request.query : counted;
    if (stream.keptUnder !== null && isStillRunning(seen)) {
      if (seen.status === 200) this.#endUnanswered(stream, personOf(chosen), chosen === request.query);
      return [];
    }
    // The token that is not chosen may have been compared before the session got its owner at the same time.
    const isComparedBefore = seen.isConcurrent && seen.code === null && stream.state === 'waiting';
    const compared = isComparedBefore ? [chosen] : [cookie, request.query];
    const people = compared.map(personOf).filter((person) => person !== null);
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
    const outcome = this.speak({ ...message, named, presented });
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
    const problems = this.settle({ ...message, presented }, outcome, seen);
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
    const outcome = this.speak({ ...message, presented });
    if (outcome.refused) return expectRefusal(seen);
    const { session } = outcome;
    const person = personOf(presented);
    this.learnId(outcome, seen);
    stream.owner = person ?? outcome.person;
    stream.byQuery = isQuery && person !== null && personOf(message.presented) !== person;
    stream.session_id = session.id;
    if (cutOff === 'after-calls') this.count(outcome.person, message.calls);
    const { mark } = message;
    const marks = [...new Set([mark, ...seen.marks])];
    session.turns.push({ person: outcome.person, wrote: [mark], marks });
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
