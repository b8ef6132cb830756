import type { SeededRandom } from '../support/chance.ts';
import { type ChatMove, PLATFORM_NAMES, type Platform, type Scope } from './chat-histories.ts';
import type { DeedOutcome } from './marks.ts';
import { EVERYBODY, type TokenKind, type Who } from './tokens.ts';

/** Where a person writes: in a session of their own in a web client, alone with the bot on a platform, or in a thread. */
export interface Place {
  on: 'webchat' | Platform;
  shared: boolean;
}

export interface Streaming {
  /** In a web client, whether it is sent to sse instead of webchat. */
  overSse: boolean;
  /** After how many ticks the person stops its stream; null if the person does not. */
  stopAfter: number | null;
}

/** What people do with actions that need confirmation. */
export type DeedMove =
  /** Asks for actions with these outcomes. Without any, it is a message like others. */
  | ({ do: 'order'; who: Who; deeds: DeedOutcome[]; token: 'none' | TokenKind } & Streaming & Place)
  | ({
      do: 'decide';
      who: Who;
      /** Whose question is answered, and on webchat in whose session. */
      of: Who;
      says: 'all' | 'none' | number[];
      by: 'word' | 'button';
      token: 'none' | TokenKind;
      /** On webchat, whether the answer names the session of the question. */
      here: boolean;
      /** On a platform, whether the platform delivers it twice. */
      twice: boolean;
    } & Streaming &
      Place);

type Moves = (ChatMove | DeedMove)[][];

/** Makes the moves of a history about actions. Moves of one list happen at the same time. */
export function deedMoves(random: SeededRandom): Moves {
  const moves: Moves = [];
  const scenes = 1 + (random.chance(0.35) ? 1 : 0);
  for (let number = 0; number < scenes; number++) {
    const scene = random.weighted([
      [anyScene, 10],
      [members, 2],
      [otherWords, 1],
      [unlinked, 1.5],
      [signedOut, 2],
      [stopped, 2],
    ] as const);
    moves.push(...scene(random));
  }
  return moves.filter(() => !random.chance(0.04));
}

function anyScene(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at = place(random);
  const links: Moves = at.on === 'webchat' ? [] : [[link(random, who, at.on, false)]];
  const begin = random.chance(0.15)
    ? [[order(random, who, at)], ...links]
    : [...links, [order(random, who, at)]];
  const between: Moves = [];
  const count = random.weighted([
    [0, 5],
    [1, 3],
    [2, 1.5],
    [3, 1],
  ] as const);
  for (let number = 0; number < count; number++) between.push([meddle(random, who, at)]);
  const answer = decide(random, who, at);
  const end: Moves = [
    random.chance(0.3)
      ? [answer, random.chance(0.5) ? decide(random, who, at) : rival(random, who, at)]
      : [answer],
  ];
  if (random.chance(0.3)) end.push([decide(random, who, at)]);
  if (random.chance(0.3)) end.push([order(random, who, at, 0.6)]);
  return [...begin, ...between, ...end];
}

/** What happens at the same time as an answer. */
function rival(random: SeededRandom, who: Who, at: Place): ChatMove | DeedMove {
  if (at.on === 'webchat') return meddle(random, who, at);
  const other = otherThan(random, who);
  return random.chance(0.8)
    ? { ...decide(random, other, at), of: who }
    : signOut(random.chance(0.8) ? who : other, random.pick(['all', 'phone'] as const));
}

/** Members of a shared thread write, and try to answer, before the person who was asked does. */
function members(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at: Place = { on: random.pick(SHARED), shared: true };
  const other = otherThan(random, who);
  const interfering = (): Moves[number] => [
    random.chance(0.3)
      ? order(random, other, at, 0.7)
      : { ...decide(random, other, at), of: who, by: random.chance(0.7) ? 'word' : 'button' },
  ];
  return [
    ...linked(random, who, at, 0.9),
    ...linked(random, other, at, 0.6),
    [order(random, who, at)],
    interfering(),
    ...(random.chance(0.4) ? [interfering()] : []),
    [decide(random, who, at)],
  ];
}

/** The person writes so much else that the question ends. */
function otherWords(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at = place(random);
  const count = random.pick([2, 3, 3, 4]);
  const words = Array.from({ length: count }, (): Moves[number] => [
    { ...order(random, who, at, 1), token: 'own' },
  ]);
  return [
    ...linked(random, who, at, 1),
    [{ ...order(random, who, at), token: 'own' }],
    ...words,
    [decide(random, who, at)],
  ];
}

/** The chat is signed out before the answer, and often signed in again. */
function unlinked(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at: Place = { ...place(random), on: random.pick(PLATFORM_NAMES) };
  if (at.on === 'phonechat') at.shared = false;
  return [
    ...linked(random, who, at, 1),
    [order(random, who, at)],
    [link(random, who, at.on as Platform, true)],
    ...linked(random, who, at, 0.5),
    [decide(random, who, at)],
  ];
}

/** The person signs out at the site before the answer, and often signs in again. */
function signedOut(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at = place(random);
  // The session no longer stores the person's sign-in when they sign out.
  const cleared: DeedMove =
    at.on === 'webchat'
      ? { ...order(random, who, at, 1), token: random.pick(['expired', 'forged'] as const) }
      : order(random, at.shared ? otherThan(random, who) : who, at, 1);
  const anew: Moves =
    at.on === 'webchat' ? [] : [[{ ...link(random, who, at.on, false), token: 'anew' } as ChatMove]];
  return [
    ...linked(random, who, at, 1),
    [{ ...order(random, who, at), token: 'own' }],
    ...(random.chance(0.6) ? [[cleared]] : []),
    [signOut(who, random.pick(['all', 'all', 'phone'] as const))],
    ...(random.chance(0.7) ? anew : []),
    [{ ...decide(random, who, at), token: 'anew' }],
  ];
}

/** The person stops the stream of an answer, which something else at the same time may answer or withdraw, too. */
function stopped(random: SeededRandom): Moves {
  const who = random.pick(EVERYBODY);
  const at: Place = { on: 'webchat', shared: false };
  const answer: DeedMove = {
    ...{ ...decide(random, who, at), by: 'word', token: 'own', here: true },
    ...{ overSse: true, stopAfter: random.below(16) },
  };
  return [
    [{ ...order(random, who, at), token: 'own', stopAfter: null }],
    random.weighted<() => Moves[number]>([
      [() => [answer], 6],
      [() => [answer, rival(random, who, at)], 3],
      [() => [answer, signOut(who, 'all')], 1],
    ])(),
    [{ ...order(random, who, at, 1), token: random.pick(['own', 'anew'] as const), overSse: false }],
    ...(random.chance(0.5) ? [[decide(random, who, at)]] : []),
  ];
}

function linked(random: SeededRandom, who: Who, { on }: Place, probability: number): Moves {
  return on !== 'webchat' && random.chance(probability) ? [[link(random, who, on, false)]] : [];
}

function otherThan(random: SeededRandom, who: Who): Who {
  return random.pick(EVERYBODY.filter((one) => one !== who));
}

/** The platforms with shared threads. */
const SHARED = ['teamchat', 'msgbot'] as const;

function place(random: SeededRandom): Place {
  const on = random.pick(['webchat', ...PLATFORM_NAMES] as const);
  return { on, shared: on !== 'webchat' && on !== 'phonechat' && random.chance(0.35) };
}

/** Something that may come between a question and its answer. */
function meddle(random: SeededRandom, who: Who, at: Place): ChatMove | DeedMove {
  const other = random.pick(EVERYBODY);
  const isWeb = at.on === 'webchat';
  const kind = random.weighted([
    ['write', 4],
    ['order', 2],
    ['others', 5],
    ['link', isWeb ? 0 : 2],
    ['sign-out', 1.5],
    ['code', isWeb ? 0 : 1],
  ] as const);
  switch (kind) {
    case 'write':
      return order(random, random.chance(0.7) ? who : other, at, 1);
    case 'order':
      return order(random, random.chance(0.7) ? who : other, at);
    case 'others':
      return { ...decide(random, other, at), of: who, by: random.chance(0.7) ? 'button' : 'word' };
    case 'link':
      return link(random, random.chance(0.6) ? who : other, at.on as Platform, random.chance(0.4));
    case 'code':
      return {
        ...{ do: 'send-code', who, platform: at.on as Platform, sender: 'own', of: other, back: 0 },
        way: 'alone',
      };
    case 'sign-out':
      return signOut(
        random.chance(0.7) ? who : other,
        random.pick(['all', 'all', 'phone', 'tenant'] as const),
      );
  }
}

function signOut(who: Who, scope: Scope): ChatMove {
  return { do: 'sign-out', who, scope, by: 'site', again: false };
}

function order(random: SeededRandom, who: Who, at: Place, plain = 0): DeedMove {
  const count = random.chance(plain) ? 0 : random.pick([1, 1, 2, 3]);
  const outcome = () =>
    random.weighted([
      ['done', 8],
      ['failed', 1],
      ['unknown', 1],
    ] as const);
  return {
    do: 'order',
    who,
    ...at,
    deeds: Array.from({ length: count }, outcome),
    token: token(random),
    ...streaming(random),
  };
}

/** An answer takes about 20 ticks, in which its actions come first. */
function streaming(random: SeededRandom): Streaming {
  return { overSse: random.chance(0.4), stopAfter: random.chance(0.25) ? random.below(16) : null };
}

function decide(random: SeededRandom, who: Who, at: Place): Extract<DeedMove, { do: 'decide' }> {
  const some = () => [1, 2, 3].filter(() => random.chance(0.5));
  return {
    ...{ do: 'decide', who, of: who, ...at },
    says: random.weighted<() => 'all' | 'none' | number[]>([
      [() => 'all', 5],
      [() => 'none', 2],
      [some, 3],
    ])(),
    by: random.pick(['word', 'button']),
    token: token(random),
    here: random.chance(0.85),
    ...streaming(random),
    twice: random.chance(0.15),
  };
}

function token(random: SeededRandom): 'none' | TokenKind {
  return random.weighted([
    ['own', 12],
    ['none', 2],
    ['phone', 1],
    ['expired', 0.5],
    ['forged', 0.5],
    ['tenant', 0.5],
  ] as const);
}

function link(random: SeededRandom, who: Who, platform: Platform, off: boolean): ChatMove {
  return {
    ...{ do: 'link', who, platform, token: random.pick(['own', 'own', 'own', 'phone', 'short'] as const) },
    ...{ target: who, off },
  };
}
