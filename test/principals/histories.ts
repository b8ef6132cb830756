import { TOKEN_KINDS, type TokenKind, type Who } from './tokens.ts';

/** Selects one of the ids that a principal knows, or a leaked id of the other principal. */
export interface Ref {
  of: Who;
  /** The position of the id, counted from the latest id, which has position 0. */
  back: number;
}

export type SessionChoice =
  | { is: 'none' }
  | { is: 'known'; ref: Ref }
  /** An id that the client invents, and that others may guess. */
  | { is: 'chosen'; number: number }
  /** An id that looks like the id of a platform's session. */
  | { is: 'channel' };

export type Brought = 'none' | 'null' | 'empty' | TokenKind;

/** How a message is posted: by a page of the site or of an allowed origin, or by a program. */
export const POSTERS = ['page', 'shop', 'curl'] as const;
export type Poster = (typeof POSTERS)[number];

/** How a stream is requested. See `actors.ts`. */
export const READERS = [
  'event-source',
  'shop-page',
  'shop-page-elsewhere',
  'sibling-page',
  'foreign-page',
  'foreign-image',
  'sibling-image',
  'link',
  'typed',
  'frame',
  'old-link',
  'old-image',
  'curl',
  'curl-with-cookie',
] as const;
export type Reader = (typeof READERS)[number];

export interface Opening {
  as: Reader;
  query: 'none' | TokenKind;
  /** `Last-Event-ID`: none, after the first event, or after all of them. */
  after: 'none' | 'first' | 'all';
}

export type Move =
  | {
      do: 'say';
      who: Who;
      via: 'webchat' | 'sse';
      as: Poster;
      session: SessionChoice;
      /** The `user_id` that the message claims. */
      user: Who;
      token: Brought;
      /** The part of the request that contains the token. */
      place: 'header' | 'body' | 'metadata';
      /** `again` repeats the last message with a key, word for word. `reuse` sends its key with a different text. */
      key: 'none' | 'new' | 'again' | 'reuse';
      fails: boolean;
      /** Whether the message asks for the other principal's data. */
      asks: boolean;
      /** On sse, how the stream is opened immediately, or null if it is opened later or never. */
      opening: Opening | null;
    }
  | { do: 'open'; who: Who; stream: Ref; opening: Opening }
  | { do: 'stop'; who: Who; stream: Ref; opening: Opening }
  /** A page of a foreign site makes the victim's browser post a form. */
  | { do: 'lure'; text: string }
  /** A cookie of the attacker gets into the victim's browser, in addition to the victim's own or instead of it. */
  | { do: 'plant'; beside: boolean }
  | {
      do: 'write';
      who: Who;
      platform: 'teamchat' | 'phonechat' | 'msgbot';
      shared: boolean;
      /**
       * On phonechat, `recycled` is the former number of the victim with a different id, and `hidden` is an id without
       * a number.
       */
      sender: 'own' | 'recycled' | 'hidden';
    }
  | {
      do: 'link';
      who: Who;
      platform: 'teamchat' | 'phonechat' | 'msgbot';
      token: TokenKind;
      /** On phonechat, the person whose number is linked. On other platforms, `who` always links their own account. */
      target: Who;
      off: boolean;
    }
  /** Moves that happen at the same time. */
  | { do: 'race'; moves: Move[] }
  /** The daemon is restarted, or one hour passes. */
  | { do: 'interval' };

export interface History {
  seed: number;
  index: number;
  /** Whether the victim has been signed in before, so that the browser has a cookie. */
  hasCookie: boolean;
  moves: Move[];
}

/** Makes the history with this number. It is always the same for the same seed. */
export function makeHistory(seed: number, index: number): History {
  const chance = new Chance(seed, index);
  const theme = chance.weighted([
    ['web', 27],
    ['platforms', 2],
    ['both', 1],
  ] as const);
  const length = 2 + chance.below(3) + (chance.is(0.25) ? 2 : 0);
  const moves: Move[] = [];
  let intervals = chance.is(0.06) ? 1 : 0;
  for (let number = 0; number < length; number++) {
    if (intervals > 0 && number > 0 && chance.is(0.4)) {
      moves.push({ do: 'interval' });
      intervals--;
    }
    const isRace = chance.is(0.12);
    const one = () => makeMove(chance, theme, moves);
    moves.push(isRace ? makeRace(chance, one) : one());
  }
  return { seed, index, hasCookie: chance.is(0.5), moves };
}

function makeMove(chance: Chance, theme: 'web' | 'platforms' | 'both', before: readonly Move[]): Move {
  const who = chance.pick(['attacker', 'victim'] as const);
  const isWeb = theme === 'web' || (theme === 'both' && chance.is(0.5));
  if (!isWeb) return platformMove(chance, who);
  const spoken = before.flatMap((move) => (move.do === 'race' ? move.moves : [move])).filter(isSaid);
  const hasStream = spoken.some(({ via }) => via === 'sse');
  const kind = chance.weighted([
    ['say', 20],
    ['open', hasStream ? 10 : 0],
    ['stop', hasStream ? 1 : 0],
    ['lure', 0.3],
    ['plant', 0.5],
  ] as const);
  switch (kind) {
    case 'say':
      return say(chance, who, spoken.length > 0);
    case 'open':
    case 'stop':
      return { do: kind, who, stream: ref(chance), opening: opening(chance, who) };
    case 'lure':
      return { do: 'lure', text: 'a form of another site' };
    case 'plant':
      return { do: 'plant', beside: chance.is(0.7) };
  }
}

function makeRace(chance: Chance, one: () => Move): Move {
  const first = one();
  const isOpened = first.do === 'open' && chance.is(0.6);
  // Often, two people open the same stream at once.
  const other: Who = first.do === 'open' && first.who === 'victim' ? 'attacker' : 'victim';
  const second: Move = isOpened ? { ...first, who: other, opening: opening(chance, other) } : one();
  return { do: 'race', moves: [first, second].map(withoutReuse) };
}

/**
 * Removes the reuse of a key. If two messages with one key and different bodies are in progress, either of them may be
 * refused.
 */
function withoutReuse(move: Move): Move {
  return move.do === 'say' && move.key === 'reuse' ? { ...move, key: 'none' } : move;
}

function isSaid(move: Move): move is Extract<Move, { do: 'say' }> {
  return move.do === 'say';
}

function say(chance: Chance, who: Who, isLater: boolean): Move {
  const via = chance.pick(['webchat', 'sse'] as const);
  const session = chance.weighted<() => SessionChoice>([
    [() => ({ is: 'none' }), 4],
    [() => ({ is: 'known', ref: ref(chance) }), isLater ? 10 : 0],
    [() => ({ is: 'chosen', number: chance.below(2) }), 3],
    [() => ({ is: 'channel' }), 0.2],
  ])();
  return {
    do: 'say',
    who,
    via,
    as: chance.pick(POSTERS),
    session,
    user: chance.is(0.4) ? 'victim' : who,
    token: chance.weighted<Brought>([
      ['none', 10],
      ['own', 6],
      ['null', 1.5],
      ['empty', 0.3],
      ['renewed', 0.8],
      ['short', 1],
      ['expired', 0.5],
      ['forged', 0.6],
      ['issuer', 0.6],
      ['audience', 0.6],
      ['tenant', 1],
      ['garbage', 0.3],
    ]),
    place: chance.pick(['header', 'body', 'metadata'] as const),
    key: chance.weighted([
      ['none', 8],
      ['new', 2],
      ['again', isLater ? 2 : 0],
      ['reuse', isLater ? 0.3 : 0],
    ] as const),
    fails: chance.is(0.03),
    asks: chance.is(0.05),
    opening: via === 'sse' && chance.is(0.5) ? opening(chance, who) : null,
  };
}

function opening(chance: Chance, who: Who): Opening {
  const usual = who === 'victim' ? 'event-source' : 'curl';
  return {
    as: chance.is(0.55) ? usual : chance.pick(READERS),
    query: chance.is(0.75) ? 'none' : chance.pick(TOKEN_KINDS),
    after: chance.weighted([
      ['none', 10],
      ['first', 2],
      ['all', 1],
    ] as const),
  };
}

function platformMove(chance: Chance, who: Who): Move {
  const platform = chance.pick(['teamchat', 'phonechat', 'msgbot'] as const);
  if (chance.is(0.6)) {
    const sender =
      platform === 'phonechat' ? chance.pick(['own', 'own', 'recycled', 'hidden'] as const) : 'own';
    return { do: 'write', who, platform, shared: platform !== 'phonechat' && chance.is(0.7), sender };
  }
  return {
    do: 'link',
    who,
    platform,
    token: chance.weighted<TokenKind>([
      ['own', 8],
      ['short', 2],
      ['renewed', 1],
      ['expired', 1],
      ['issuer', 1],
      ['audience', 1],
      ['forged', 1],
      ['tenant', 2],
    ]),
    target: chance.is(0.3) ? 'victim' : who,
    off: chance.is(0.2),
  };
}

function ref(chance: Chance): Ref {
  return { of: chance.pick(['attacker', 'victim'] as const), back: chance.is(0.7) ? 0 : chance.below(3) };
}

/** Repeatable random numbers (Mulberry32). */
class Chance {
  #state: number;

  constructor(seed: number, index: number) {
    this.#state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35)) >>> 0;
    // The first numbers are skipped, because they are similar for adjacent seeds.
    for (let skipped = 0; skipped < 3; skipped++) this.next();
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  weighted<T>(from: readonly (readonly [T, number])[]): T {
    let left = this.next() * from.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [one, weight] of from) {
      left -= weight;
      if (left < 0) return one;
    }
    return (from.at(-1) as readonly [T, number])[0];
  }
}
