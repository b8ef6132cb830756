import { randomOf, type SeededRandom } from '../support/chance.ts';
import { type ChatMove, chatMoves, SCOPES } from './chat-histories.ts';
import { type DeedMove, deedMoves } from './deed-histories.ts';
import { EVERYBODY, RENEWALS, type Renewal, TOKEN_KINDS, type TokenKind, type Who } from './tokens.ts';

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
const POSTERS = ['page', 'shop', 'curl'] as const;
export type Poster = (typeof POSTERS)[number];

/** How a stream is requested. See `actors.ts`. */
const READERS = [
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
  | ChatMove
  | DeedMove
  /** Moves that happen at the same time. */
  | { do: 'race'; moves: Move[] }
  /** The daemon is restarted, or one hour passes. */
  | { do: 'interval' };

/**
 * What people do in a history: they write on the web channels; or on platforms, which they connect on the site; or they
 * ask for actions that need confirmation.
 */
export const THEMES = ['web', 'chats', 'deeds'] as const;
export type Theme = (typeof THEMES)[number];

export interface History {
  seed: number;
  index: number;
  /** Whether the victim has been signed in before, so that the browser has a cookie. */
  hasCookie: boolean;
  /** How the site renews tokens, by person. */
  renewals: ReadonlyMap<string, Renewal>;
  moves: Move[];
}

/** Makes the history with this number. It is always the same for the same seed. @param only the only theme to play */
export function makeHistory(seed: number, index: number, only: Theme | null = null): History {
  const random = randomOf(seed, index);
  const drawn = random.chance(0.85) ? 'web' : 'chats';
  const theme = only ?? drawn;
  const moves = MOVES[theme](random);
  const renewals = new Map(
    theme === 'web'
      ? []
      : EVERYBODY.map((who) => [who, random.chance(0.6) ? 'issued' : random.pick(RENEWALS)] as const),
  );
  return { seed, index, hasCookie: random.chance(0.5), renewals, moves };
}

function webMoves(random: SeededRandom): Move[] {
  const length = 2 + random.below(3) + (random.chance(0.25) ? 2 : 0);
  const moves: Move[] = random.chance(0.06) ? secondReader(random) : [];
  let intervals = random.chance(0.06) ? 1 : 0;
  for (let number = 0; number < length; number++) {
    if (intervals > 0 && number > 0 && random.chance(0.4)) {
      moves.push({ do: 'interval' });
      intervals--;
    }
    const isRace = random.chance(0.12);
    const one = () => webMove(random, moves);
    moves.push(isRace ? makeRace(random, one) : one());
  }
  return moves;
}

const MOVES: Readonly<Record<Theme, (random: SeededRandom) => Move[]>> = {
  web: webMoves,
  chats: (random) => inOrder(random, chatMoves(random)),
  deeds: (random) => inOrder(random, deedMoves(random)),
};

/** Moves of one list happen at the same time. */
function inOrder(random: SeededRandom, lists: readonly Move[][]): Move[] {
  const moves = lists.map((at): Move => (at.length === 1 ? (at[0] as Move) : { do: 'race', moves: at }));
  if (random.chance(0.06)) moves.splice(1 + random.below(moves.length), 0, { do: 'interval' });
  return moves;
}

function webMove(random: SeededRandom, before: readonly Move[]): Move {
  const who = random.pick(['attacker', 'victim'] as const);
  const spoken = before.flatMap((move) => (move.do === 'race' ? move.moves : [move])).filter(isSaid);
  const hasStream = spoken.some(({ via }) => via === 'sse');
  const kind = random.weighted([
    ['say', 20],
    ['open', hasStream ? 10 : 0],
    ['stop', hasStream ? 1 : 0],
    ['lure', 0.3],
    ['plant', 0.5],
    ['sign-out', spoken.length > 0 ? 2 : 0],
  ] as const);
  switch (kind) {
    case 'say':
      return say(random, who, spoken.length > 0);
    case 'open':
    case 'stop':
      return { do: kind, who, stream: ref(random), opening: opening(random, who) };
    case 'lure':
      return { do: 'lure', text: 'a form of another site' };
    case 'plant':
      return { do: 'plant', beside: random.chance(0.7) };
    case 'sign-out':
      return { do: kind, who, scope: random.pick(SCOPES), by: 'site', again: false };
  }
}

/** Two people open a stream at once that belongs to nobody yet. */
function secondReader(random: SeededRandom): Move[] {
  const [one, other] = random.chance(0.5)
    ? (['victim', 'attacker'] as const)
    : (['attacker', 'victim'] as const);
  const asker = random.pick([one, other]);
  const stream = { of: asker, back: 0 };
  const open = (who: Who, query: Opening['query']): Move => ({
    ...{ do: 'open', who, stream },
    opening: { ...opening(random, who), as: 'curl', query, after: 'none' },
  });
  return [
    { ...say(random, asker, false), via: 'sse', as: 'curl', token: 'none', key: 'none', opening: null },
    {
      do: 'race',
      moves: [open(one, 'own'), open(other, random.pick(['own', 'own', 'none', 'forged'] as const))],
    },
  ];
}

function makeRace(random: SeededRandom, one: () => Move): Move {
  const first = one();
  if (first.do === 'sign-out') return { do: 'race', moves: [first, raceOfSignOut(random, first.who)] };
  const isOpened = first.do === 'open' && random.chance(0.6);
  // Often, two people open the same stream at once.
  const other: Who = first.do === 'open' && first.who === 'victim' ? 'attacker' : 'victim';
  const second: Move = isOpened ? { ...first, who: other, opening: opening(random, other) } : one();
  const moves = [first, second.do === 'sign-out' ? one() : second].filter(({ do: is }) => is !== 'sign-out');
  return { do: 'race', moves: moves.map(withoutReuse) };
}

/** A message of the person who signs out at the same time. */
function raceOfSignOut(random: SeededRandom, who: Who): Move {
  const said = say(random, who, true);
  return { ...said, via: 'webchat', key: 'none', opening: null };
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

function say(random: SeededRandom, who: Who, isLater: boolean): Extract<Move, { do: 'say' }> {
  const via = random.pick(['webchat', 'sse'] as const);
  const session = random.weighted<() => SessionChoice>([
    [() => ({ is: 'none' }), 4],
    [() => ({ is: 'known', ref: ref(random) }), isLater ? 10 : 0],
    [() => ({ is: 'chosen', number: random.below(2) }), 3],
    [() => ({ is: 'channel' }), 0.2],
  ])();
  return {
    do: 'say',
    who,
    via,
    as: random.pick(POSTERS),
    session,
    user: random.chance(0.4) ? 'victim' : who,
    token: random.weighted<Brought>([
      ['none', 10],
      ['own', 6],
      ['null', 1.5],
      ['empty', 0.3],
      ['renewed', 0.8],
      ['phone', 1.5],
      ['laptop', 0.5],
      ['anew', 0.7],
      ['undated', 0.3],
      ['short', 1],
      ['expired', 0.5],
      ['forged', 0.6],
      ['issuer', 0.6],
      ['audience', 0.6],
      ['tenant', 1],
      ['garbage', 0.3],
    ]),
    place: random.pick(['header', 'body', 'metadata'] as const),
    key: random.weighted([
      ['none', 8],
      ['new', 2],
      ['again', isLater ? 2 : 0],
      ['reuse', isLater ? 0.3 : 0],
    ] as const),
    fails: random.chance(0.03),
    asks: random.chance(0.05),
    opening: via === 'sse' && random.chance(0.5) ? opening(random, who) : null,
  };
}

function opening(random: SeededRandom, who: Who): Opening {
  const usual = who === 'victim' ? 'event-source' : 'curl';
  return {
    as: random.chance(0.55) ? usual : random.pick(READERS),
    query: random.chance(0.75) ? 'none' : random.pick(TOKEN_KINDS),
    after: random.weighted([
      ['none', 10],
      ['first', 2],
      ['all', 1],
    ] as const),
  };
}

function ref(random: SeededRandom): Ref {
  return { of: random.pick(['attacker', 'victim'] as const), back: random.chance(0.7) ? 0 : random.below(3) };
}
