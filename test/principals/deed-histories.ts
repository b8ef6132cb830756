import type { Chance } from './chance.ts';
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
export function deedMoves(chance: Chance): Moves {
  const moves: Moves = [];
  const scenes = 1 + (chance.is(0.35) ? 1 : 0);
  for (let number = 0; number < scenes; number++) {
    const scene = chance.weighted([
      [anyScene, 10],
      [members, 2],
      [otherWords, 1],
      [unlinked, 1.5],
      [signedOut, 2],
      [stopped, 2],
    ] as const);
    moves.push(...scene(chance));
  }
  return moves.filter(() => !chance.is(0.04));
}

function anyScene(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at = place(chance);
  const links: Moves = at.on === 'webchat' ? [] : [[link(chance, who, at.on, false)]];
  const begin = chance.is(0.15) ? [[order(chance, who, at)], ...links] : [...links, [order(chance, who, at)]];
  const between: Moves = [];
  const count = chance.weighted([
    [0, 5],
    [1, 3],
    [2, 1.5],
    [3, 1],
  ] as const);
  for (let number = 0; number < count; number++) between.push([meddle(chance, who, at)]);
  const answer = decide(chance, who, at);
  const end: Moves = [
    chance.is(0.3) ? [answer, chance.is(0.5) ? decide(chance, who, at) : rival(chance, who, at)] : [answer],
  ];
  if (chance.is(0.3)) end.push([decide(chance, who, at)]);
  if (chance.is(0.3)) end.push([order(chance, who, at, 0.6)]);
  return [...begin, ...between, ...end];
}

/** What happens at the same time as an answer. */
function rival(chance: Chance, who: Who, at: Place): ChatMove | DeedMove {
  if (at.on === 'webchat') return meddle(chance, who, at);
  const other = otherThan(chance, who);
  return chance.is(0.8)
    ? { ...decide(chance, other, at), of: who }
    : signOut(chance.is(0.8) ? who : other, chance.pick(['all', 'phone'] as const));
}

/** Members of a shared thread write, and try to answer, before the person who was asked does. */
function members(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at: Place = { on: chance.pick(SHARED), shared: true };
  const other = otherThan(chance, who);
  const interfering = (): Moves[number] => [
    chance.is(0.3)
      ? order(chance, other, at, 0.7)
      : { ...decide(chance, other, at), of: who, by: chance.is(0.7) ? 'word' : 'button' },
  ];
  return [
    ...linked(chance, who, at, 0.9),
    ...linked(chance, other, at, 0.6),
    [order(chance, who, at)],
    interfering(),
    ...(chance.is(0.4) ? [interfering()] : []),
    [decide(chance, who, at)],
  ];
}

/** The person writes so much else that the question ends. */
function otherWords(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at = place(chance);
  const count = chance.pick([2, 3, 3, 4]);
  const words = Array.from({ length: count }, (): Moves[number] => [
    { ...order(chance, who, at, 1), token: 'own' },
  ]);
  return [
    ...linked(chance, who, at, 1),
    [{ ...order(chance, who, at), token: 'own' }],
    ...words,
    [decide(chance, who, at)],
  ];
}

/** The chat is signed out before the answer, and often signed in again. */
function unlinked(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at: Place = { ...place(chance), on: chance.pick(PLATFORM_NAMES) };
  if (at.on === 'phonechat') at.shared = false;
  return [
    ...linked(chance, who, at, 1),
    [order(chance, who, at)],
    [link(chance, who, at.on as Platform, true)],
    ...linked(chance, who, at, 0.5),
    [decide(chance, who, at)],
  ];
}

/** The person signs out at the site before the answer, and often signs in again. */
function signedOut(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at = place(chance);
  // The session no longer stores the person's sign-in when they sign out.
  const cleared: DeedMove =
    at.on === 'webchat'
      ? { ...order(chance, who, at, 1), token: chance.pick(['expired', 'forged'] as const) }
      : order(chance, at.shared ? otherThan(chance, who) : who, at, 1);
  const anew: Moves =
    at.on === 'webchat' ? [] : [[{ ...link(chance, who, at.on, false), token: 'anew' } as ChatMove]];
  return [
    ...linked(chance, who, at, 1),
    [{ ...order(chance, who, at), token: 'own' }],
    ...(chance.is(0.6) ? [[cleared]] : []),
    [signOut(who, chance.pick(['all', 'all', 'phone'] as const))],
    ...(chance.is(0.7) ? anew : []),
    [{ ...decide(chance, who, at), token: 'anew' }],
  ];
}

/** The person stops the stream of an answer, which something else at the same time may answer or withdraw, too. */
function stopped(chance: Chance): Moves {
  const who = chance.pick(EVERYBODY);
  const at: Place = { on: 'webchat', shared: false };
  const answer: DeedMove = {
    ...{ ...decide(chance, who, at), by: 'word', token: 'own', here: true },
    ...{ overSse: true, stopAfter: chance.below(16) },
  };
  return [
    [{ ...order(chance, who, at), token: 'own', stopAfter: null }],
    chance.weighted<() => Moves[number]>([
      [() => [answer], 6],
      [() => [answer, rival(chance, who, at)], 3],
      [() => [answer, signOut(who, 'all')], 1],
    ])(),
    [{ ...order(chance, who, at, 1), token: chance.pick(['own', 'anew'] as const), overSse: false }],
    ...(chance.is(0.5) ? [[decide(chance, who, at)]] : []),
  ];
}

function linked(chance: Chance, who: Who, { on }: Place, probability: number): Moves {
  return on !== 'webchat' && chance.is(probability) ? [[link(chance, who, on, false)]] : [];
}

function otherThan(chance: Chance, who: Who): Who {
  return chance.pick(EVERYBODY.filter((one) => one !== who));
}

/** The platforms with shared threads. */
const SHARED = ['teamchat', 'msgbot'] as const;

function place(chance: Chance): Place {
  const on = chance.pick(['webchat', ...PLATFORM_NAMES] as const);
  return { on, shared: on !== 'webchat' && on !== 'phonechat' && chance.is(0.35) };
}

/** Something that may come between a question and its answer. */
function meddle(chance: Chance, who: Who, at: Place): ChatMove | DeedMove {
  const other = chance.pick(EVERYBODY);
  const isWeb = at.on === 'webchat';
  const kind = chance.weighted([
    ['write', 4],
    ['order', 2],
    ['others', 5],
    ['link', isWeb ? 0 : 2],
    ['sign-out', 1.5],
    ['code', isWeb ? 0 : 1],
  ] as const);
  switch (kind) {
    case 'write':
      return order(chance, chance.is(0.7) ? who : other, at, 1);
    case 'order':
      return order(chance, chance.is(0.7) ? who : other, at);
    case 'others':
      return { ...decide(chance, other, at), of: who, by: chance.is(0.7) ? 'button' : 'word' };
    case 'link':
      return link(chance, chance.is(0.6) ? who : other, at.on as Platform, chance.is(0.4));
    case 'code':
      return {
        ...{ do: 'send-code', who, platform: at.on as Platform, sender: 'own', of: other, back: 0 },
        way: 'alone',
      };
    case 'sign-out':
      return signOut(chance.is(0.7) ? who : other, chance.pick(['all', 'all', 'phone', 'tenant'] as const));
  }
}

function signOut(who: Who, scope: Scope): ChatMove {
  return { do: 'sign-out', who, scope, by: 'site', again: false };
}

function order(chance: Chance, who: Who, at: Place, plain = 0): DeedMove {
  const count = chance.is(plain) ? 0 : chance.pick([1, 1, 2, 3]);
  const outcome = () =>
    chance.weighted([
      ['done', 8],
      ['failed', 1],
      ['unknown', 1],
    ] as const);
  return {
    do: 'order',
    who,
    ...at,
    deeds: Array.from({ length: count }, outcome),
    token: token(chance),
    ...streaming(chance),
  };
}

/** An answer takes about 20 ticks, in which its actions come first. */
function streaming(chance: Chance): Streaming {
  return { overSse: chance.is(0.4), stopAfter: chance.is(0.25) ? chance.below(16) : null };
}

function decide(chance: Chance, who: Who, at: Place): Extract<DeedMove, { do: 'decide' }> {
  const some = () => [1, 2, 3].filter(() => chance.is(0.5));
  return {
    ...{ do: 'decide', who, of: who, ...at },
    says: chance.weighted<() => 'all' | 'none' | number[]>([
      [() => 'all', 5],
      [() => 'none', 2],
      [some, 3],
    ])(),
    by: chance.pick(['word', 'button']),
    token: token(chance),
    here: chance.is(0.85),
    ...streaming(chance),
    twice: chance.is(0.15),
  };
}

function token(chance: Chance): 'none' | TokenKind {
  return chance.weighted([
    ['own', 12],
    ['none', 2],
    ['phone', 1],
    ['expired', 0.5],
    ['forged', 0.5],
    ['tenant', 0.5],
  ] as const);
}

function link(chance: Chance, who: Who, platform: Platform, off: boolean): ChatMove {
  return {
    ...{ do: 'link', who, platform, token: chance.pick(['own', 'own', 'own', 'phone', 'short'] as const) },
    ...{ target: who, off },
  };
}
