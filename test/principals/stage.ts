import { toUser } from '../../plugins/phonechat/simulator.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { Actor, numberOf } from './actors.ts';
import type { Presented } from './facts.ts';
import { messageMark } from './marks.ts';
import { EVERYBODY, nowSeconds, type Person, type SignOut, type Token, type Who } from './tokens.ts';
import type { World } from './world.ts';

/** The first `iat`, in seconds before the history begins: so old that a token of half an hour more is to be renewed. */
const BEGAN_BEFORE = 20_000;
/** Seconds between two sign-ins or sign-outs. */
const APART = 10;

/** What all moves of a history share. */
export class Stage {
  readonly world: World;
  readonly number: number;
  readonly actors: Readonly<Record<Who, Actor>>;
  /** What the marks stand for. */
  readonly meanings = new Map<string, string>();
  hour = 0;
  /** Whether another move happens at the same time. */
  isConcurrent = false;
  /** Whether somebody signs out at the site at the same time. */
  hasSignOut = false;
  /** Sign-outs of this move that the service has confirmed. */
  signedOut: SignOut[] = [];
  readonly #began = nowSeconds() - BEGAN_BEFORE;
  #moments = 0;
  #users: ReadonlySet<string> | null = null;
  #messages = 0;

  constructor(world: World, number: number) {
    this.world = world;
    this.number = number;
    const actor = (who: Who) => new Actor(number, who, () => this.moment());
    this.actors = Object.fromEntries(EVERYBODY.map((who) => [who, actor(who)])) as Record<Who, Actor>;
  }

  /** The time of the next sign-in or sign-out, in seconds since the epoch. */
  moment(): number {
    return this.#began + APART * ++this.#moments;
  }

  newMark(who: Who): string {
    const mark = messageMark(this.number, ++this.#messages);
    this.meanings.set(mark, `a message of the ${who} (number ${this.#messages})`);
    return mark;
  }

  presented(token: Token | undefined): Presented {
    if (!token) return { kind: 'none' };
    const { person, expires, origin } = token;
    if (person === null) return { kind: 'invalid', expired: null };
    return expires > this.hour
      ? { kind: 'person', person, expires, origin }
      : { kind: 'invalid', expired: person };
  }

  /** All ids of the people on platforms. */
  get users(): ReadonlySet<string> {
    this.#users ??= new Set([
      ...PLATFORMS.flatMap(({ plugin }) => EVERYBODY.map((who) => this.idOn(plugin.name, who))),
      ...EVERYBODY.flatMap((who) => [this.otherIdOf(who, 'own'), this.otherIdOf(who, 'recycled')]),
    ]);
    return this.#users;
  }

  /** Waits until the daemon has answered everything that people have written on platforms. */
  answered(): Promise<void> {
    return this.world.answered(this.users);
  }

  idOn(platform: string, who: Who): string {
    const number = numberOf(this.number, who);
    return PLATFORMS.find(({ plugin }) => plugin.name === platform)?.personOf(number) ?? '';
  }

  /**
   * Returns the business-scoped id of a sender. Each number has one id, and the new owner of a recycled number has a
   * different id.
   */
  otherIdOf(who: Who, sender: 'own' | 'recycled' | 'hidden'): string {
    const isNewHolder = sender === 'recycled' || (sender === 'hidden' && who === 'attacker');
    return isNewHolder ? `US.${this.number}NEWHOLDER` : toUser(this.idOn('phonechat', who)).user_id;
  }

  /**
   * Whether a user of a platform may act for a person, however the history went. People look before they confirm a chat
   * on the site, but may agree to act for the attacker, and everybody can link anybody's number to themselves.
   */
  mayAct(platform: string, user: string, person: Person): boolean {
    const owner = EVERYBODY.find((who) => this.idOn(platform, who) === user);
    if (owner === undefined || person === owner || person === 'attacker' || person === 'tenant') return true;
    return platform === 'phonechat' && owner === 'victim';
  }
}
