import {
  Checker,
  marksProblems,
  type Presented,
  type Problem,
  personOf,
  type Seen,
  type State,
  TOKEN_TOLD,
} from './checker.ts';
import {
  isCovered,
  type Origin,
  type Person,
  RENEWED_LATER,
  type Renewal,
  type SignOut,
  type Token,
} from './tokens.ts';

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
}

export interface LinkChange {
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
export type SeenReply = Pick<Seen, 'marks' | 'actedFor' | 'said' | 'hasToken'> & { mark: string };

/** What the sender of a code, or of an answer to its question, sees: a text of the daemon, or a reply of the agent. */
export type SeenAnswer =
  | { is: Notice; names: readonly string[]; buttons: readonly string[] }
  | ({ is: 'reply' } & SeenReply)
  | { is: 'nothing' }
  /** Another move at the same time may have led to what the sender sees. */
  | { is: 'unclear' };

export type Notice =
  | 'question'
  | 'on_site'
  | 'done'
  | 'declined'
  | 'gone'
  | 'invalid_token'
  | 'held_by_another'
  | 'other';

/** How a code is sent. */
export const WAYS = ['alone', 'link', 'spelled', 'forwarded', 'within', 'group'] as const;
export type Way = (typeof WAYS)[number];

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

interface Code {
  id: string;
  person: Person;
  token: Proof;
  confirmed: Proof | null;
  state: 'waiting' | 'claimed' | 'used' | 'declined' | 'expired';
  claimant: { platform: string; user: string; alias: string | null } | null;
  agreed: boolean;
  /** The number of turns in the claimant's chat when the claimant was asked. */
  asked: number;
}

/** A token that was valid once. */
type Proof = Pick<Token, 'person' | 'expires' | 'origin' | 'kind'>;

interface ChatState {
  links: Link[];
  codes: Code[];
  /** The questions that wait until their sender signs in, by the key of the sender's link. */
  notes: Map<string, { mark: string; alias: string | null; in_group: boolean }>;
  /** The second runs that are queued, by the key of the sender's link. */
  queued: Map<string, { mark: string; alias: string | null; person: Person }[]>;
  /** The replies of second runs that people must have seen since they were last compared. */
  rerun: Map<string, Expected[]>;
  /** Codes made by each person, and wrong codes of each sender, within this hour. */
  made: Map<Person, number>;
  wrong: Map<string, number>;
  blocked: Map<string, number>;
  /** The code that a sender has claimed last, by the sender's chat. */
  claims: Map<string, string>;
  /** The number of turns in each private chat. */
  turns: Map<string, number>;
}

interface Expected {
  mark: string;
  marks: string[];
  said: string[];
  person: Person | null;
}

const CODES_MAX = 5;
const WRONG_MAX = 5;

/** The rules of links, link codes, sign-outs and waiting questions. See `Checker`. */
export class ChatChecker extends Checker {
  declare protected state: State & ChatState;
  /** How the site renews tokens, by person. It does not change during a history. */
  readonly #renewals: ReadonlyMap<string, Renewal>;
  /** Whether this user of a platform may act for this person, however the history went. */
  readonly #mayAct: (platform: string, user: string, person: Person) => boolean;

  constructor(
    names: ConstructorParameters<typeof Checker>[0],
    renewals: ReadonlyMap<string, Renewal> = new Map(),
    mayAct: (platform: string, user: string, person: Person) => boolean = () => true,
  ) {
    super(names);
    this.#renewals = renewals;
    this.#mayAct = mayAct;
    Object.assign(this.state, {
      ...{ links: [], codes: [], notes: new Map(), queued: new Map(), rerun: new Map() },
      ...{ made: new Map(), wrong: new Map(), blocked: new Map(), claims: new Map(), turns: new Map() },
    });
  }

  override copy(): this {
    const copy = new ChatChecker(this.names, this.#renewals, this.#mayAct) as this;
    copy.state = structuredClone(this.state);
    return copy;
  }

  override passHour(): void {
    super.passHour();
    const { codes, notes, made, wrong, blocked, hour } = this.state;
    for (const code of codes) if (isOpen(code)) code.state = 'expired';
    for (const one of [notes, made, wrong]) one.clear();
    for (const [user, until] of blocked) if (until <= hour) blocked.delete(user);
  }

  /** Links, stored contexts and codes end. */
  override signOut(signOut: SignOut): void {
    super.signOut(signOut);
    const isOver = ({ origin }: { origin: Origin }) => isCovered(origin, [signOut]);
    for (const link of this.state.links.filter(isOver)) this.#remove(link);
    for (const code of this.state.codes)
      if (isOpen(code) && [code.token, code.confirmed].some((one) => one !== null && isOver(one)))
        code.state = 'expired';
  }

  // Messages

  /**
   * Checks a message on a platform. `seen` is its reply, or null if there was no reply.
   * @param calls as for `message`
   */
  chatMessage(message: ChatMessage, seen: SeenReply | 'unclear' | null, calls = 1): Problem[] {
    if (seen === null) return [{ kind: 'unanswered', text: 'a message on a platform was not answered' }];
    if (seen !== 'unclear' && seen.hasToken) return [TOKEN_TOLD];
    const { platform, user, thread, mark } = message;
    if (thread === null) this.#runQueued(platform, user);
    const { person, expected } = this.#turn(message, calls);
    if (person === null)
      this.state.notes.set(keyOf(platform, user), { mark, alias: message.alias, in_group: thread !== null });
    if (person !== null && !this.#mayAct(platform, user, person))
      return [{ kind: 'identity', text: `the rules let ${user} act for the ${person}` }];
    return seen === 'unclear' ? [] : this.#compare(expected, seen);
  }

  /** Checks the replies in a private chat that nobody has asked for just now: those of second runs. */
  reruns(platform: string, user: string, seen: readonly SeenReply[]): Problem[] {
    const key = keyOf(platform, user);
    this.#runQueued(platform, user);
    const expected = this.state.rerun.get(key) ?? [];
    this.state.rerun.delete(key);
    const problems = expected.flatMap((one): Problem[] => {
      const reply = seen.find(({ mark }) => mark === one.mark);
      if (!reply)
        return [{ kind: 'unanswered', text: `the question ${one.mark} was not answered after sign-in` }];
      return reply.hasToken ? [TOKEN_TOLD] : this.#compare(one, reply);
    });
    if (seen.length <= expected.length) return problems;
    return [
      ...problems,
      { kind: 'identity', text: `${seen.length - expected.length} messages were answered without need` },
    ];
  }

  #compare({ person, marks, said }: Expected, seen: SeenReply): Problem[] {
    const name = person === null ? null : this.names.nameOf(person);
    const problems = marksProblems(seen.marks, marks);
    for (const one of seen.said.filter((mark) => !said.includes(mark)))
      problems.push({ kind: 'leak', text: `${one} is shown as said by the person, but was not` });
    if (seen.actedFor !== name)
      problems.unshift({
        kind: 'identity',
        text: `the message acted for ${seen.actedFor ?? 'nobody'}, but must act for ${name ?? 'nobody'}`,
      });
    return problems;
  }

  #turn(
    { platform, user, alias, thread, mark }: ChatMessage,
    calls: number,
  ): { person: Person | null; expected: Expected } {
    const { sessions } = this.state;
    const person = this.#personOf({ platform, user, alias });
    const id = `${platform} ${thread === null ? `direct ${user}` : `thread ${thread}`}`;
    let session = sessions.find((one) => one.id === id);
    const hasChangedHands = thread === null && person !== null && (session?.owner ?? person) !== person;
    if (session && hasChangedHands) {
      sessions.splice(sessions.indexOf(session), 1);
      session = undefined;
    }
    if (!session) {
      session = { id, former: [], kind: 'platform', user, owner: null, bound: null, turns: [] };
      sessions.push(session);
    }
    session.owner ??= person;
    const shown = this.shownTo(session, person, mark, calls);
    session.turns.push({ person, mark, marks: shown.marks });
    if (person !== null && calls > 0) this.count(person, calls);
    if (thread === null) this.state.turns.set(id, (this.state.turns.get(id) ?? 0) + 1);
    return { person, expected: { ...shown, person } };
  }

  /** The person of the sender of a message. The message may renew the sender's link, or end it. */
  #personOf(sender: Pick<ChatMessage, 'platform' | 'user' | 'alias'>): Person | null {
    const link = this.#linkOf(sender);
    if (link === null || link.expires <= this.state.hour) return null;
    if (!link.renews || !link.isDue) return link.person;
    return this.#renew(link)?.person ?? null;
  }

  /** The second runs in the queue of a private chat come before the next message there. */
  #runQueued(platform: string, user: string): void {
    const key = keyOf(platform, user);
    const { queued, rerun } = this.state;
    for (const { mark, alias, person } of queued.get(key) ?? []) {
      if (this.#personOf({ platform, user, alias }) !== person) continue;
      const { expected } = this.#turn({ platform, user, alias, thread: null, mark }, 1);
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
        this.#put({ platform, user, person, expires, origin, alias, renews: false, isDue: false });
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

  #put(link: Omit<Link, 'key'>): void {
    const key = keyOf(link.platform, link.user);
    const { links, notes, queued, sessions } = this.state;
    const before = links.find((one) => one.key === key);
    if (before) links.splice(links.indexOf(before), 1);
    links.push({ key, ...link });
    const note = notes.get(key);
    notes.delete(key);
    if (!note || (before && before.person !== link.person)) return;
    // What was asked alone with the bot is not answered as somebody else than the person whose chat it was.
    const chat = sessions.find(({ id }) => id === `${link.platform} direct ${link.user}`);
    const owner = note.in_group ? null : (chat?.owner ?? null);
    if (owner !== null && owner !== link.person) return;
    queued.set(key, [
      ...(queued.get(key) ?? []),
      { mark: note.mark, alias: note.alias, person: link.person },
    ]);
  }

  #remove(link: Link): void {
    const { links, notes } = this.state;
    links.splice(links.indexOf(link), 1);
    notes.delete(link.key);
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

  // Codes

  makeCode(sent: Presented, token: Proof, { status, id }: { status: number; id: string | null }): Problem[] {
    const presented = this.valid(sent);
    if (presented.kind !== 'person') return expectStatus(status, 401);
    const { person } = presented;
    const made = this.state.made.get(person) ?? 0;
    if (made >= CODES_MAX) return expectStatus(status, 429);
    this.state.made.set(person, made + 1);
    const earlier = this.state.codes.findLast((code) => code.person === person);
    if (earlier && isOpen(earlier)) earlier.state = 'expired';
    if (id !== null)
      this.state.codes.push({
        ...{ id, person, token, confirmed: null, state: 'waiting', claimant: null, agreed: false, asked: 0 },
      });
    return expectStatus(status, 201);
  }

  /** A code that others have read ends. */
  codeSeen(id: string | null): Problem[] {
    const code = this.#code(id);
    if (code && isOpen(code)) code.state = 'expired';
    return [];
  }

  /** Checks a message that consists of a code. @param id null if nobody ever had the code */
  sendCode(
    message: ChatMessage,
    { isForwarded, id }: { isForwarded: boolean; id: string | null },
    seen: SeenAnswer,
  ): Problem[] {
    const { platform, user, alias } = message;
    const code = this.#code(id);
    const ordinary = () => this.#ordinary(message, seen);
    if (isForwarded) return ordinary();
    const sender = keyOf(platform, user);
    const { wrong, blocked, claims } = this.state;
    if (blocked.has(sender)) return ordinary();
    const isTheirs = code?.claimant?.platform === platform && code.claimant.user === user;
    if (code?.state === 'claimed' && isTheirs) return this.#asked(code, seen);
    if (code?.state === 'waiting') {
      const other = this.#code(claims.get(sender) ?? null);
      if (other && isOpen(other)) other.state = 'expired';
      claims.set(sender, code.id);
      code.state = 'claimed';
      code.claimant = { platform, user, alias };
      code.asked = this.#turnsOf(platform, user);
      return this.#asked(code, seen);
    }
    const count = (wrong.get(sender) ?? 0) + 1;
    wrong.set(sender, count);
    if (count >= WRONG_MAX) {
      wrong.delete(sender);
      blocked.set(sender, this.state.hour + 1);
    }
    return ordinary();
  }

  /** Checks a "yes" or a "no" that is written in a private chat. */
  word(message: ChatMessage, approve: boolean, seen: SeenAnswer): Problem[] {
    const { platform, user } = message;
    const code = this.#code(this.state.claims.get(keyOf(platform, user)) ?? null);
    if (code?.state !== 'claimed' || code.agreed) return this.#ordinary(message, seen);
    if (this.#turnsOf(platform, user) > code.asked) {
      code.asked = this.#turnsOf(platform, user);
      return this.#expectNotice(seen, 'question', code.person);
    }
    return this.#settle(code, approve, seen);
  }

  /** Whether a press of this user on the question about a code counts. */
  counts({ platform, user }: Pick<ChatMessage, 'platform' | 'user'>, id: string): boolean {
    const code = this.#code(id);
    const isTheirs = code?.claimant?.platform === platform && code.claimant.user === user;
    return isTheirs && code.state === 'claimed';
  }

  /** Checks the press of a button below the question about a code. */
  press(
    { platform, user }: Pick<ChatMessage, 'platform' | 'user'>,
    { id, approve }: { id: string; approve: boolean },
    seen: SeenAnswer,
  ): Problem[] {
    const code = this.#code(id);
    if (code && this.counts({ platform, user }, id)) return this.#settle(code, approve, seen);
    return ['nothing', 'other', 'unclear'].includes(seen.is)
      ? []
      : [{ kind: 'not refused', text: `the press of a button that does not count led to ${seen.is}` }];
  }

  confirm(sent: Presented, token: Proof, { id, status }: { id: string; status: number }): Problem[] {
    const presented = this.valid(sent);
    if (presented.kind !== 'person') return expectStatus(status, 401);
    const code = this.#code(id);
    if (code?.person !== presented.person) return expectStatus(status, 404);
    if (code.state === 'used') return expectStatus(status, 200);
    if (code.state !== 'claimed') return expectStatus(status, 409);
    code.confirmed = token;
    switch (this.#bind(code)) {
      case 'invalid_token':
        return expectStatus(status, 409);
      case 'held_by_another':
        return expectStatus(status, 403);
      default:
        return expectStatus(status, 200);
    }
  }

  /** Checks what the site says about a code, or its end. */
  code(
    sent: Presented,
    { id, ends }: { id: string; ends: boolean },
    seen: { status: number; state: string | null },
  ): Problem[] {
    const presented = this.valid(sent);
    if (presented.kind !== 'person') return expectStatus(seen.status, 401);
    const code = this.#code(id);
    if (code?.person !== presented.person) return expectStatus(seen.status, 404);
    if (ends) {
      if (isOpen(code)) code.state = 'expired';
      return expectStatus(seen.status, 204);
    }
    if (seen.status !== 200) return expectStatus(seen.status, 200);
    return seen.state === code.state
      ? []
      : [{ kind: 'session', text: `the site says that the code is ${seen.state}, but it is ${code.state}` }];
  }

  #code(id: string | null): Code | null {
    return this.state.codes.find((one) => one.id === id) ?? null;
  }

  #turnsOf(platform: string, user: string): number {
    return this.state.turns.get(`${platform} direct ${user}`) ?? 0;
  }

  #asked(code: Code, seen: SeenAnswer): Problem[] {
    const reason = this.#refusal(code, [code.token]);
    if (reason === null) return this.#expectNotice(seen, 'question', code.person);
    code.state = 'expired';
    return this.#expectNotice(seen, reason, null);
  }

  #settle(code: Code, approve: boolean, seen: SeenAnswer): Problem[] {
    if (!approve) {
      code.state = 'declined';
      return this.#expectNotice(seen, 'declined', null);
    }
    code.agreed = true;
    const bound = this.#bind(code);
    return this.#expectNotice(seen, bound, bound === 'done' ? code.person : null);
  }

  /** Makes the link if both ends have agreed. */
  #bind(code: Code): 'on_site' | 'done' | 'invalid_token' | 'held_by_another' {
    const { claimant, confirmed, token, person } = code;
    if (!code.agreed || confirmed === null || claimant === null) return 'on_site';
    const reason = this.#refusal(code, [token, confirmed]);
    code.state = reason === null ? 'used' : 'expired';
    if (reason !== null) return reason;
    const newest = newer(token, confirmed);
    const standing = this.state.links.find(({ key }) => key === keyOf(claimant.platform, claimant.user));
    const alias =
      claimant.alias === null || claimant.alias === claimant.user
        ? standing?.person === person
          ? standing.alias
          : null
        : claimant.alias;
    this.#put({
      ...{ platform: claimant.platform, user: claimant.user, person, alias, renews: true },
      ...{ expires: newest.expires, origin: newest.origin, isDue: newest.kind === 'short' },
    });
    return 'done';
  }

  #refusal({ claimant, person }: Code, tokens: readonly Proof[]): 'invalid_token' | 'held_by_another' | null {
    const { hour, signOuts, links } = this.state;
    if (tokens.some(({ expires, origin }) => expires <= hour || isCovered(origin, signOuts)))
      return 'invalid_token';
    if (claimant?.platform !== 'phonechat') return null;
    const holder = links.find(({ key }) => key === keyOf(claimant.platform, claimant.user));
    return holder && holder.person !== person && holder.expires > hour ? 'held_by_another' : null;
  }

  /** A message that is answered by the agent, although it looks like something else. */
  #ordinary(message: ChatMessage, seen: SeenAnswer): Problem[] {
    if (seen.is === 'reply') return this.chatMessage(message, seen);
    if (seen.is === 'unclear') return this.chatMessage(message, 'unclear');
    const text = `a message was answered with ${seen.is} instead of a reply of the agent`;
    return [{ kind: seen.is === 'nothing' ? 'unanswered' : 'not refused', text }];
  }

  #expectNotice(seen: SeenAnswer, expected: Notice, person: Person | null): Problem[] {
    if (seen.is === 'unclear') return [];
    if (seen.is !== expected)
      return [
        {
          kind: seen.is === 'nothing' ? 'unanswered' : 'session',
          text: `the sender sees ${seen.is}, but must see ${expected}`,
        },
      ];
    const named = person === null || !('names' in seen) || seen.names.includes(this.names.nameOf(person));
    return named ? [] : [{ kind: 'identity', text: 'the question or its answer names another person' }];
  }
}

function isOpen({ state }: Code): boolean {
  return state === 'waiting' || state === 'claimed';
}

function newer(token: Proof, confirmed: Proof): Proof {
  const [one, other] = [token.origin.iat ?? 0, confirmed.origin.iat ?? 0];
  if (one !== other) return one > other ? token : confirmed;
  return token.expires > confirmed.expires ? token : confirmed;
}

function keyOf(platform: string, user: string): string {
  return `${platform} ${user}`;
}

function expectStatus(status: number, wanted: number): Problem[] {
  if (status === wanted) return [];
  const text = `it was answered ${status}, but should have been answered ${wanted}`;
  return [{ kind: status < 300 ? 'not refused' : 'refused', text }];
}
