import type { Chance } from './chance.ts';
import { type ChatMove, PLATFORM_NAMES, type Platform } from './chat-histories.ts';
import type { DeedOutcome } from './marks.ts';
import { EVERYBODY, type TokenKind, type Who } from './tokens.ts';

/** Where a person writes: in a session of their own in a web client, alone with the bot on a platform, or in a thread. */
export interface Place {
  on: 'webchat' | Platform;
  shared: boolean;
}

/** What people do with actions that need confirmation. */
export type DeedMove =
  /** Asks for actions with these outcomes. Without any, it is a message like others. */
  | ({ do: 'order'; who: Who; deeds: DeedOutcome[]; token: 'none' | TokenKind } & Place)
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
    } & Place);

type Moves = (ChatMove | DeedMove)[][];

/** Makes the moves of a history about actions. Moves of one list happen at the same time. */
export function deedMoves(chance: Chance): Moves {
  const moves: Moves = [];
  const scenes = 1 + (chance.is(0.35) ? 1 : 0);
  for (let number = 0; number < scenes; number++) moves.push(...scene(chance));
  return moves.filter(() => !chance.is(0.04));
}

function scene(chance: Chance): Moves {
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
  // On platforms, nobody can tell which of two answers at the same time a reply belongs to.
  const end: Moves =
    at.on === 'webchat' && chance.is(0.3)
      ? [[answer, chance.is(0.5) ? decide(chance, who, at) : meddle(chance, who, at)]]
      : [[answer]];
  if (chance.is(0.3)) end.push([decide(chance, who, at)]);
  if (chance.is(0.3)) end.push([order(chance, who, at, 0.6)]);
  return [...begin, ...between, ...end];
}

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
      return {
        ...{ do: 'sign-out', who: chance.is(0.7) ? who : other },
        ...{ scope: chance.pick(['all', 'all', 'phone', 'tenant'] as const), by: 'site', again: false },
      };
  }
}

function order(chance: Chance, who: Who, at: Place, plain = 0): DeedMove {
  const count = chance.is(plain) ? 0 : chance.pick([1, 1, 2, 3]);
  const outcome = () =>
    chance.weighted([
      ['done', 8],
      ['failed', 1],
      ['unknown', 1],
    ] as const);
  return { do: 'order', who, ...at, deeds: Array.from({ length: count }, outcome), token: token(chance) };
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
