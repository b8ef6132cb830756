import { ChatChecker, type ChatMessage, expectStatus, keyOf, type SeenReply } from './chat-checker.ts';
import type { Presented, Problem } from './facts.ts';
import { isCovered, type Origin, type Person, type SignOut, type Token } from './tokens.ts';

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
const WAYS = ['alone', 'link', 'spelled', 'forwarded', 'within', 'group'] as const;
export type Way = (typeof WAYS)[number];

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

interface CodeState {
  codes: Code[];
  /** Codes made by each person, and wrong codes of each sender, within this hour. */
  made: Map<Person, number>;
  wrong: Map<string, number>;
  blocked: Map<string, number>;
  /** The code that a sender has claimed last, by the sender's chat. */
  claims: Map<string, string>;
}

const CODES_MAX = 5;
const WRONG_MAX = 5;

/** The rules of link codes. See `Checker`. */
export class CodeChecker extends ChatChecker {
  declare protected state: ChatChecker['state'] & CodeState;

  constructor(...facts: ConstructorParameters<typeof ChatChecker>) {
    super(...facts);
    Object.assign(this.state, {
      ...{ codes: [], made: new Map(), wrong: new Map(), blocked: new Map(), claims: new Map() },
    });
  }

  override passHour(): void {
    super.passHour();
    const { codes, made, wrong, blocked, hour } = this.state;
    for (const code of codes) if (isOpen(code)) code.state = 'expired';
    for (const one of [made, wrong]) one.clear();
    for (const [user, until] of blocked) if (until <= hour) blocked.delete(user);
  }

  override signOut(signOut: SignOut): void {
    super.signOut(signOut);
    const isOver = ({ origin }: { origin: Origin }) => isCovered(origin, [signOut]);
    for (const code of this.state.codes)
      if (isOpen(code) && [code.token, code.confirmed].some((one) => one !== null && isOver(one)))
        code.state = 'expired';
  }

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
      this.claimed(message);
      return this.#asked(code, seen);
    }
    const count = (wrong.get(sender) ?? 0) + 1;
    wrong.set(sender, count);
    if (count >= WRONG_MAX) {
      wrong.delete(sender);
      blocked.set(sender, this.state.hour + 1);
      const claimed = this.#code(claims.get(sender) ?? null);
      if (claimed && isOpen(claimed)) claimed.state = 'expired';
    }
    return ordinary();
  }

  /** Called when a chat has claimed a code. */
  protected claimed(_chat: Pick<ChatMessage, 'platform' | 'user'>): void {}

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
    this.put({
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
