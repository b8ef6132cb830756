import type { JsonObject } from '../../../channel/index.ts';
import type { GuardUserState } from '../../guard/judge.ts';
import type { PersonKey } from '../../identity/identity.ts';
import { clientTag, type Session, type StoredTurn, sessionTag } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions/actions.ts';
import type { Feedback, SentAnswer } from '../feedback.ts';
import type { StoredAnswer } from '../idempotency.ts';
import type { InboxMessage } from '../inbox/inbox.ts';
import type { LinkCode } from '../links/link-codes.ts';
import type { Link } from '../links/links.ts';
import type { WaitingQuestion } from '../links/waiting-questions.ts';
import type { Recording } from '../recordings.ts';
import type { StoredSession } from '../sessions/session-document.ts';
import type { StreamRecord } from '../streams.ts';
import type { PersonSelector, PersonSession } from './persons.ts';

/** The user id of a shared session after the person who opened it was erased. */
const ERASED_USER = 'erased';

/** Stands for the id of somebody else who opened a shared session, where a person's data is shown. */
const OTHER_USER = 'another user';

/** The beginning of the key under which the requests of a client address are limited. */
const ADDRESS = 'http:address:';

export interface FoundSession {
  doc: StoredSession;
  found: PersonSession;
}

/** Matches the records that lead to others: it learns addresses, messages, sessions and codes from them. */
export type LeadingMatch = Pick<PersonMatch, Leading | 'link' | 'action' | 'runsIn'>;

/** Matches the others, once all that lead to them were found. */
export type LaterMatch = Omit<PersonMatch, Leading>;

type Leading = 'guard' | 'answer' | 'inbox' | 'trace' | 'stream' | 'code';

/**
 * Decides which records belong to a person or a platform's user. Many are recognized by the sessions, so that there is
 * no match without them; some by other records (`LeadingMatch`).
 */
export class PersonMatch {
  readonly #person: PersonKey | null = null;
  readonly #link_keys: ReadonlySet<string>;
  readonly #user: { platform: string; user_id: string } | null = null;
  /** `platform:user_id` of the users that are linked to the person. */
  readonly #linked = new Set<string>();
  /** Ids and tags of the sessions that belong only to this person or user. */
  readonly #sessions = new Set<string>();
  /** Tags of the sessions in which others wrote. */
  readonly #others = new Set<string>();
  /** Ids of the sessions of the person's or user's streams. Such a session may never have been stored. */
  readonly #streamed = new Set<string>();
  readonly #turns = new Set<string>();
  readonly #codes = new Set<string>();
  /** `platform:message_id` of the person's or user's messages. */
  readonly #messages = new Set<string>();
  /** The ids that web clients claimed in the person's sessions before sign-in, and the tags of their addresses. */
  readonly #claimed = new Set<string>();
  readonly #clients = new Set<string>();

  private constructor(of: PersonSelector) {
    if ('person' in of) {
      this.#person = of.person;
      this.#link_keys = new Set(of.link_keys);
      for (const key of of.link_keys) this.#linked.add(key.replace(':jwt:', ':'));
    } else {
      this.#user = of;
      this.#link_keys = new Set([`${of.platform}:jwt:${of.user_id}`]);
    }
  }

  /** @param all all sessions of the store, each with its turns, oldest first. @returns also those of them that match */
  static async through(
    all: AsyncIterable<readonly [StoredSession, readonly StoredTurn[]]>,
    of: PersonSelector,
  ): Promise<{ match: PersonMatch; sessions: FoundSession[] }> {
    const match = new PersonMatch(of);
    const sessions: FoundSession[] = [];
    for await (const [doc, turns] of all) {
      const found = match.#findIn(doc.session, turns);
      if (found !== null) sessions.push({ doc, found });
    }
    return { match, sessions };
  }

  /** @returns null if nothing in the session belongs to the person or user. */
  #findIn(session: Session, turns: readonly StoredTurn[]): PersonSession | null {
    const isTheirs = this.#isTiedTo(session);
    const isPrivate = turns.every(({ user_id }) => user_id === session.user_id);
    const theirs = turns.filter((turn) => this.#isTurn(session, turn, isTheirs && isPrivate));
    const shared = !isTheirs || theirs.length < turns.length;
    if (shared) this.#others.add(sessionTag(session));
    if (!isTheirs && theirs.length === 0) return null;
    for (const { turn_id, message_id } of theirs) {
      this.#turns.add(turn_id);
      this.#noteMessage(session.platform, message_id);
    }
    if (!shared) this.#noteSession(session);
    return { session, turns: theirs, shared };
  }

  /** The records of a session as the person or user may see them: without the data that ties it to somebody else. */
  shown({ session, turns, shared }: PersonSession): PersonSession {
    if (!shared) return { session, turns, shared };
    const { user_id, owner } = session;
    const opened = this.#isUser(session.platform, user_id) || turns.some((turn) => turn.user_id === user_id);
    const visible: Session = {
      ...session,
      user_id: opened ? user_id : OTHER_USER,
      owner: this.#isPerson(owner) ? owner : null,
      ...(this.#isBound(session) ? {} : { credential_owner: null, metadata: {} }),
    };
    return { session: visible, turns, shared };
  }

  /** The session without the data that ties it to the person or user. */
  untied(session: Session): Session {
    const opened = this.#isUser(session.platform, session.user_id);
    const isBound = this.#isBound(session) || (opened && session.credential_owner !== null);
    const { client: _client, ...rest } = session;
    return {
      ...rest,
      user_id: opened ? ERASED_USER : session.user_id,
      owner: opened || session.owner === this.#person ? null : session.owner,
      ...(isBound ? { credential_owner: null, metadata: {} } : {}),
    };
  }

  link({ key, alias }: Pick<Link, 'key' | 'alias'>): boolean {
    if (this.#link_keys.has(key)) return true;
    if (this.#user !== null) return alias?.alias === `${this.#user.platform}:${this.#user.user_id}`;
    return alias !== null && alias.person === this.#person;
  }

  action({ person, platform, user_id, session_tag }: Action): boolean {
    return (
      this.#isPerson(person) ||
      this.#isUser(platform, user_id) ||
      (person === null && this.#isSession(session_tag))
    );
  }

  inbox(
    found: Pick<
      InboxMessage,
      | 'id'
      | 'turn_id'
      | 'rerun'
      | 'written_for'
      | 'platform'
      | 'session_id'
      | 'user_id'
      | 'message'
      | 'message_id'
      | 'reply_to'
      | 'link_change'
    >,
  ) {
    const { id, turn_id = id, rerun, written_for } = found;
    const { platform, session_id, user_id, message, message_id, reply_to, link_change } = found;
    const isTheirs =
      this.#turns.has(turn_id) ||
      this.#isPerson(rerun?.person ?? null) ||
      this.#isPerson(written_for ?? null) ||
      this.#isSession(session_id) ||
      this.#isUser(platform, user_id) ||
      (link_change !== undefined && this.#isUserOrLinked(platform, user_id)) ||
      (message === null && this.#isNotice(platform, message_id, reply_to));
    if (isTheirs) this.#noteMessage(platform, message_id);
    return isTheirs;
  }

  /** Whether a waiting question was asked by the person or user. */
  waitingQuestion({ link_key, message }: Pick<WaitingQuestion, 'link_key' | 'message'>): boolean {
    return this.#link_keys.has(link_key) || this.inbox({ ...message, id: message.rerun.turn_id });
  }

  /**
   * The id of the session in which a message of the person or user is running, if nobody else writes there. That
   * session may not be stored yet. Null if the message is not running, or if it runs in a thread of several people.
   */
  runsIn({
    state,
    message,
    session_id,
  }: Pick<InboxMessage, 'state' | 'message' | 'session_id'>): string | null {
    return state === 'running' && message !== null && message.shared !== true ? session_id : null;
  }

  /**
   * Whether a trace belongs to the person or user. A refused message has no stored turn, and perhaps no session, so its
   * trace is matched by its person or user.
   */
  trace({ platform, user_id, person, session_id, turn_id, message_id }: TraceRecord): boolean {
    const isTheirs =
      this.#turns.has(turn_id) ||
      this.#isSession(session_id) ||
      (person !== undefined && person === this.#person) ||
      this.#isUser(platform, user_id);
    if (isTheirs) this.#noteMessage(platform, message_id);
    return isTheirs;
  }

  /** Whether words of the person or user are in the recording of a run, even if the run answered somebody else. */
  recording({
    platform,
    session_id,
    session_tag,
    turns,
    users,
    persons,
  }: Pick<Recording, 'platform' | 'session_id' | 'session_tag' | 'turns' | 'users' | 'persons'>): boolean {
    return (
      turns.some((turn_id) => this.#turns.has(turn_id)) ||
      this.#isSession(session_id) ||
      this.#isSession(session_tag) ||
      persons.some((person) => this.#isPerson(person)) ||
      users.some((user_id) => this.#isUser(platform, user_id))
    );
  }

  stream({ owner, reader, start }: Pick<StreamRecord, 'owner' | 'reader' | 'start'>): boolean {
    const isTheirs =
      this.#isPerson(owner) ||
      this.#isPerson(reader) ||
      this.#isPerson(start.cookie_person) ||
      this.#isSession(start.session_id) ||
      this.#isUser(start.message.platform, start.message.user_id);
    if (isTheirs) this.#streamed.add(start.session_id);
    if (isTheirs && !start.token_given) this.#noteAddress(start.address);
    return isTheirs;
  }

  /**
   * Whether the answer of an idempotency key belongs to the person or user. The key of a message is JSON; the key of a
   * link is `link:` and JSON.
   */
  answer(key: string, { session_id, reader = null, person = null }: StoredAnswer): boolean {
    const at = key.indexOf('[');
    const [first, second, id = null] = JSON.parse(key.slice(at)) as [string, string | string[], string?];
    if (this.#isSession(session_id) || this.#isPerson(reader)) {
      if (at === 0 && second[0] === 'client') this.#noteAddress(second[1] ?? null);
      return true;
    }
    if (at > 0) {
      const isTheirs = this.#isPerson(person) || this.#isUser(first, second as string);
      if (isTheirs) this.#noteMessage(first, id);
      return isTheirs;
    }
    const [kind, ...ids] = second as string[];
    if (kind === 'person') return this.#isPerson((ids[0] ?? null) as PersonKey | null);
    // Without an answer, the key of an anonymous client is recognized by the address and the id of its user.
    if (kind !== 'client' || session_id !== '') return false;
    const [address = '', user_id = ''] = ids;
    return this.#claimed.has(user_id) && this.#clients.has(clientTag(address));
  }

  /**
   * Whether a message, identified by its id on the platform, belongs to the person or user.
   * @param user_id who wrote the message; null if that is not recorded.
   */
  seenMessage(platform: string, message_id: string, user_id: string | null): boolean {
    return this.#messages.has(`${platform}:${message_id}`) || this.#isUser(platform, user_id);
  }

  /**
   * Whether the guard's counters belong to the person or user. They also belong to a person if they count an anonymous
   * web client that claimed the same user id as a session of the person.
   */
  guard({ user: { platform, user_id, person, address } }: Pick<GuardUserState, 'user'>): boolean {
    if (address !== null && (this.#claimed.has(user_id) || this.#isUser(platform, user_id))) {
      this.#noteAddress(address);
      return true;
    }
    return this.#isPerson(person) || this.#isUserOrLinked(platform, user_id);
  }

  guardTurns(session_tag: string): boolean {
    return (
      this.#isSession(session_tag) || (this.#streamed.has(session_tag) && !this.#others.has(session_tag))
    );
  }

  limit(key: string): boolean {
    if (key.startsWith(ADDRESS)) return this.#clients.has(clientTag(key.slice(ADDRESS.length)));
    return this.#person !== null && key === `http:person:${this.#person}`;
  }

  /** A rating belongs to the person or user whose turn it is about. */
  feedback({ turn_id, platform, user_id, person }: Feedback, session_tag: string): boolean {
    return (
      this.#turns.has(turn_id) ||
      this.#isSession(session_tag) ||
      this.#isPerson(person) ||
      this.#isUser(platform, user_id)
    );
  }

  sentAnswer({ turn_id, session_id }: SentAnswer): boolean {
    return this.#turns.has(turn_id) || this.#isSession(session_id);
  }

  /** A code belongs to its person, and to the user who has claimed it. */
  code({ code_id, person, claimant }: Pick<LinkCode, 'code_id' | 'person' | 'claimant'>): boolean {
    const isTheirs =
      this.#isPerson(person) ||
      (claimant !== null &&
        (this.#isUser(claimant.platform, claimant.user_id) ||
          this.#isUser(claimant.platform, claimant.alias_id)));
    if (isTheirs) this.#codes.add(code_id);
    return isTheirs;
  }

  hasCode(code_id: string): boolean {
    return this.#codes.has(code_id);
  }

  person(person: PersonKey): boolean {
    return this.#isPerson(person);
  }

  /** @param key from `senderKey` */
  codeSender(key: string): boolean {
    const [platform = '', user_id = ''] = JSON.parse(key) as string[];
    return this.#isUserOrLinked(platform, user_id);
  }

  /** The key of a budget is that of its person, or `platform:user_id`. */
  budget(key: string): boolean {
    return key === (this.#user ? `${this.#user.platform}:${this.#user.user_id}` : this.#person);
  }

  #isTiedTo(session: Session): boolean {
    const { platform, user_id, owner } = session;
    return this.#isUser(platform, user_id) || this.#isPerson(owner) || this.#isBound(session);
  }

  /** Whether the stored sign-in of the session is the person's or user's. */
  #isBound({ platform, credential_owner: bound }: Session): boolean {
    return bound !== null && (this.#isPerson(bound.person) || this.#isUser(platform, bound.user_id));
  }

  #isTurn(session: Session, turn: StoredTurn, isPrivatelyTheirs: boolean): boolean {
    if (this.#user !== null) return this.#isUser(session.platform, turn.user_id);
    return turn.person === this.#person || (turn.person === null && isPrivatelyTheirs);
  }

  #isPerson(person: PersonKey | null): boolean {
    return person !== null && person === this.#person;
  }

  #isUser(platform: string | null, user_id: string | null): boolean {
    return user_id !== null && this.#user?.platform === platform && this.#user?.user_id === user_id;
  }

  #isUserOrLinked(platform: string, user_id: string | null): boolean {
    return this.#isUser(platform, user_id) || this.#linked.has(`${platform}:${user_id}`);
  }

  /** Whether a notice answers a message of the person or user, or is addressed to the user. */
  #isNotice(platform: string, message_id: string | null, reply_to: JsonObject): boolean {
    if (message_id !== null && this.#messages.has(`${platform}:${message_id}`)) return true;
    return platform === this.#user?.platform && mentions(reply_to, this.#user.user_id);
  }

  #isSession(name: string | null): boolean {
    return name !== null && this.#sessions.has(name);
  }

  #noteSession(session: Session): void {
    for (const name of [session.session_id, sessionTag(session)]) this.#sessions.add(name);
    if (this.#person !== null) this.#claimed.add(session.user_id);
    if (session.client !== undefined) this.#clients.add(session.client);
  }

  #noteAddress(address: string | null): void {
    if (address !== null) this.#clients.add(clientTag(address));
  }

  #noteMessage(platform: string, message_id: string | null): void {
    if (message_id !== null) this.#messages.add(`${platform}:${message_id}`);
  }
}

/**
 * Whether the user's id is one of the values in an address (`reply_to`), at any depth. Platforms also write an id as a
 * number, or a phone number without its plus.
 */
function mentions(value: JsonObject | JsonObject[string] | undefined, user_id: string): boolean {
  if (typeof value !== 'object' || value === null) return plain(String(value)) === plain(user_id);
  return Object.values(value).some((inner) => mentions(inner as JsonObject, user_id));
}

function plain(id: string): string {
  return id.replace(/^\+/, '');
}
