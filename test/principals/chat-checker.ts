import type { Business, Expected, Presented, Problem, Seen, Session, State } from './facts.ts';
import { StreamChecker } from './stream-checker.ts';
import { isCovered, type Origin, type Person, RENEWED_LATER, type Renewal, type SignOut } from './tokens.ts';
import { personOf } from './verdicts.ts';

export interface ChatMessage {
  platform: string;
  /** The id that the platform gives the sender. */
  user: string;
  /** Another id of the sender that arrived with the message, or null. */
  alias: string | null;
  /** The name of the thread if others can read the message, or null if the sender is alone with the bot. */
  thread: string | null;
  /** Empty if the text has no mark. */
  mark: string;
  business?: Business;
}

interface LinkChange {
  platform: string;
  user: string;
  presented: Presented;
  off: boolean;
  /** Whether the change must not replace the link of another person. */
  keepsHolder: boolean;
  /** Whether only the linked person can remove the link. */
  needsToken: boolean;
}

/** A reply of the agent in a private chat. */
export type SeenReply = Pick<Seen, 'marks' | 'actedFor' | 'said' | 'told' | 'hasToken'> & { mark: string };

interface Link {
  key: string;
  platform: string;
  user: string;
  person: Person;
  expires: number;
  origin: Origin;
  alias: string | null;
  /** Whether it was made with a code, so that its token is renewed. */
  renews: boolean;
  /** Whether its token is old enough to be renewed. */
  isDue: boolean;
}

/** A question that waits until its sender signs in. */
type Note = Pick<ChatMessage, 'mark' | 'alias' | 'business'>;

interface ChatState {
  links: Link[];
  /** The questions that wait until their sender signs in, by the key of the sender's link. */
  notes: Map<string, Note & { in_group: boolean }>;
  /** The second runs that are queued, by the key of the sender's link. */
  queued: Map<string, (Note & { person: Person })[]>;
  /** The replies of second runs that people must have seen since they were last compared. */
  rerun: Map<string, Expected[]>;
  /**
   * The replies of the agent that may have come after what was taken for the answer, because something else happened at
   * the same time, by the key of the sender's link.
   */
  belated: Map<string, Expected[]>;
  /** The number of turns in each private chat. */
  turns: Map<string, number>;
}

/** The rules of messages on platforms, of links, and of questions that wait for the sign-in. See `Checker`. */
export class ChatChecker extends StreamChecker {
  declare protected state: State & ChatState;
  /** How the site renews tokens, by person. It does not change during a history. */
  readonly #renewals: ReadonlyMap<string, Renewal>;
  /** Whether this user of a platform may act for this person, however the history went. */
  readonly #mayAct: (platform: string, user: string, person: Person) => boolean;

  constructor(
    names: ConstructorParameters<typeof StreamChecker>[0],
    renewals: ReadonlyMap<string, Renewal> = new Map(),
    mayAct: (platform: string, user: string, person: Person) => boolean = () => true,
  ) {
    super(names);
    this.#renewals = renewals;
    this.#mayAct = mayAct;
    Object.assign(this.state, {
      ...{ links: [], notes: new Map(), queued: new Map(), rerun: new Map(), belated: new Map() },
      turns: new Map(),
    });
  }

  override copy(): this {
    const copy = new (this.constructor as typeof ChatChecker)(
      this.names,
      this.#renewals,
      this.#mayAct,
    ) as this;
    copy.state = structuredClone(this.state);
    return copy;
  }

  override passHour(): void {
    super.passHour();
    this.state.notes.clear();
  }

  /** Links and stored contexts end. */
  override signOut(signOut: SignOut): void {
    super.signOut(signOut);
    for (const link of this.state.links.filter(({ origin }) => isCovered(origin, [signOut])))
      this.#remove(link);
  }

  // Messages

  /**
   * Checks a message on a platform. `seen` is its reply, or null if there was no reply.
   * @param calls as for `message`
   */
  chatMessage(message: ChatMessage, seen: SeenReply | 'unclear' | null, calls = 1): Problem[] {
    if (seen === null) return [{ kind: 'unanswered', text: 'a message on a platform was not answered' }];
    const { platform, user, thread } = message;
    if (thread === null) this.runQueued(platform, user);
    const { person, expected } = this.#turn(message, calls);
    if (person === null)
      this.state.notes.set(keyOf(platform, user), { ...noteOf(message), in_group: thread !== null });
    if (person !== null && !this.#mayAct(platform, user, person))
      return [{ kind: 'identity', text: `the rules let ${user} act for the ${person}` }];
    if (seen !== 'unclear') return this.compare(expected, seen);
    const { belated } = this.state;
    belated.set(keyOf(platform, user), [...(belated.get(keyOf(platform, user)) ?? []), expected]);
    return [];
  }

  /** Checks the replies in a private chat that nobody has asked for just now: those of second runs. */
  reruns(platform: string, user: string, seen: readonly SeenReply[]): Problem[] {
    const key = keyOf(platform, user);
    this.runQueued(platform, user);
    const { rerun, belated } = this.state;
    const left = [...seen];
    const take = (one: Expected): Problem[] => {
      const same = left.filter(({ mark }) => mark === one.mark);
      const reply = same.find((reply) => this.compare(one, reply).length === 0) ?? same[0];
      if (!reply)
        return [{ kind: 'unanswered', text: `the question ${one.mark} was not answered after sign-in` }];
      left.splice(left.indexOf(reply), 1);
      return this.compare(one, reply);
    };
    const problems = (rerun.get(key) ?? []).flatMap(take);
    for (const one of belated.get(key) ?? [])
      if (left.some((reply) => reply.mark === one.mark && this.compare(one, reply).length === 0)) take(one);
    for (const one of [rerun, belated]) one.delete(key);
    if (left.length === 0) return problems;
    return [...problems, { kind: 'identity', text: `${left.length} messages were answered without need` }];
  }

  #turn(message: ChatMessage, calls: number): { person: Person | null; expected: Expected } {
    const { platform, user, alias, thread, mark, business } = message;
    const person = this.#personOf({ platform, user, alias });
    const session = this.#session(message, person);
    const sender = { user, person, hasToken: person !== null, signsOut: false };
    const expected = this.reply({ session, ...sender, mark, calls, business });
    const { turns } = this.state;
    if (thread === null) turns.set(String(session.id), (turns.get(String(session.id)) ?? 0) + 1);
    return { person, expected };
  }

  #session({ platform, user, alias, thread }: ChatMessage, person: Person | null): Session {
    const { sessions } = this.state;
    const id = sessionOf({ platform, user, thread });
    let session = sessions.find((one) => one.id === id);
    const isOthers = person !== null && (session?.owner ?? person) !== person;
    const isRecycled = alias !== null && (session?.alias ?? alias) !== alias;
    const hasChangedHands = thread === null && (isOthers || isRecycled);
    if (session && hasChangedHands) {
      sessions.splice(sessions.indexOf(session), 1);
      this.sessionEnded(id);
      session = undefined;
    }
    if (!session) {
      session = { id, former: [], kind: 'platform', user, alias, owner: null, bound: null, turns: [] };
      sessions.push(session);
    }
    session.owner ??= person;
    session.alias ??= alias;
    return session;
  }

  /** Called when a session ends because its chat belongs to another person now. */
  protected sessionEnded(_id: string): void {}

  /** Called if a user of a platform is not linked as before. @param keep the person who is linked now */
  protected linkChanged(_platform: string, _user: string, _keep: Person | null): void {}

  /** The person of the sender of a message. The message may renew the sender's link, or end it. */
  #personOf(sender: Pick<ChatMessage, 'platform' | 'user' | 'alias'>): Person | null {
    const link = this.#linkOf(sender);
    if (link === null || link.expires <= this.state.hour) return null;
    if (!link.renews || !link.isDue) return link.person;
    return this.#renew(link)?.person ?? null;
  }

  /** The second runs in the queue of a private chat come before the next message there. */
  protected runQueued(platform: string, user: string): void {
    const key = keyOf(platform, user);
    const { queued, rerun } = this.state;
    for (const { person, ...note } of queued.get(key) ?? []) {
      if (this.#personOf({ platform, user, ...note }) !== person) continue;
      const { expected } = this.#turn({ platform, user, ...note, thread: null }, 1);
      rerun.set(key, [...(rerun.get(key) ?? []), expected]);
    }
    queued.delete(key);
  }

  // Links

  /** @param linked whether the service confirmed that the link was changed, or null if it did not say */
  link(change: LinkChange, linked: boolean | null): Problem[] {
    const { platform, user, off, keepsHolder, needsToken } = change;
    const presented = this.valid(change.presented);
    const { links, hour, notes } = this.state;
    const standing = links.find(({ key }) => key === keyOf(platform, user));
    const person = personOf(presented);
    let mustBeDone: boolean;
    if (off) {
      mustBeDone = needsToken ? person !== null && standing?.person === person : true;
      if (mustBeDone && standing) this.#remove(standing);
      if (!needsToken) notes.delete(keyOf(platform, user));
    } else {
      const isHeld = keepsHolder && standing && standing.expires > hour && standing.person !== person;
      mustBeDone = presented.kind === 'person' && !isHeld;
      if (mustBeDone && presented.kind === 'person') {
        const { person, expires, origin } = presented;
        const alias = standing?.person === person ? standing.alias : null;
        this.put({ platform, user, person, expires, origin, alias, renews: false, isDue: false });
      }
    }
    if (linked === null || linked === mustBeDone) return [];
    return [
      linked
        ? { kind: 'not refused', text: 'a link was changed that must not be changed' }
        : { kind: 'refused', text: 'a link that should have been changed was not' },
    ];
  }

  /** Checks the list of a person's links. @param seen the platforms of the links */
  list(sent: Presented, { status, platforms }: { status: number; platforms: readonly string[] }): Problem[] {
    const presented = this.valid(sent);
    if (presented.kind !== 'person') return expectStatus(status, 401);
    const own = this.state.links
      .filter(({ person }) => person === presented.person)
      .map(({ platform }) => platform);
    const [is, should] = [platforms, own].map((list) => [...list].sort().join(' '));
    if (status !== 200) return expectStatus(status, 200);
    return is === should
      ? []
      : [{ kind: 'session', text: `the site lists links on ${is}, but they are on ${should}` }];
  }

  /** Checks the end of a link that a person asked for on the site. @param user the user whose link has this id */
  endLink(
    sent: Presented,
    link: { platform: string; user: string; person: string } | null,
    status: number,
  ): Problem[] {
    const presented = this.valid(sent);
    if (presented.kind !== 'person') return expectStatus(status, 401);
    const found = this.state.links.find(
      ({ key }) => link !== null && key === keyOf(link.platform, link.user),
    );
    const isOwn = found?.person === presented.person && link?.person === presented.person;
    if (!found || !isOwn) return expectStatus(status, 404);
    this.#remove(found);
    return expectStatus(status, 204);
  }

  protected put(link: Omit<Link, 'key'>): void {
    const key = keyOf(link.platform, link.user);
    const { links, notes, queued, sessions } = this.state;
    const before = links.find((one) => one.key === key);
    if (before) links.splice(links.indexOf(before), 1);
    links.push({ key, ...link });
    this.linkChanged(link.platform, link.user, link.person);
    const note = notes.get(key);
    notes.delete(key);
    if (!note || (before && before.person !== link.person)) return;
    // What was asked alone with the bot is not answered as somebody else than the person whose chat it was.
    const chat = sessions.find(({ id }) => id === `${link.platform} direct ${link.user}`);
    const owner = note.in_group ? null : (chat?.owner ?? null);
    if (owner !== null && owner !== link.person) return;
    queued.set(key, [...(queued.get(key) ?? []), { ...noteOf(note), person: link.person }]);
  }

  #remove(link: Link): void {
    const { links, notes } = this.state;
    links.splice(links.indexOf(link), 1);
    notes.delete(link.key);
    this.linkChanged(link.platform, link.user, null);
  }

  /**
   * Finds the link of a sender. If another id arrives together with the linked id, the link is bound to that id too.
   */
  #linkOf({ platform, user, alias }: Pick<ChatMessage, 'platform' | 'user' | 'alias'>): Link | null {
    const { links } = this.state;
    const link = links.find(({ key }) => key === keyOf(platform, user));
    if (!link) return links.find((one) => one.platform === platform && one.alias === user) ?? null;
    if (alias === null) return link;
    if (link.alias !== null && link.alias !== alias) return null;
    link.alias = alias;
    return link;
  }

  /** The link after a message has met it. Null if it has ended. */
  #renew(link: Link): Link | null {
    switch (this.#renewals.get(link.person) ?? 'issued') {
      case 'issued':
        Object.assign(link, { expires: 1000, isDue: false });
        link.origin = { ...link.origin, iat: Number(link.origin.iat) + RENEWED_LATER };
        return link;
      case 'ended':
        this.#remove(link);
        return null;
      default:
        return link;
    }
  }
}

function noteOf({ mark, alias, business }: Note): Note {
  return { mark, alias, ...(business ? { business } : {}) };
}

/** The id of the session of a message. */
export function sessionOf({
  platform,
  user,
  thread,
}: Pick<ChatMessage, 'platform' | 'user' | 'thread'>): string {
  return `${platform} ${thread === null ? `direct ${user}` : `thread ${thread}`}`;
}

export function keyOf(platform: string, user: string): string {
  return `${platform} ${user}`;
}

export function expectStatus(status: number, wanted: number): Problem[] {
  if (status === wanted) return [];
  const text = `it was answered ${status}, but should have been answered ${wanted}`;
  return [{ kind: status < 300 ? 'not refused' : 'refused', text }];
}
