import type { Chance } from './chance.ts';
import type { Way } from './code-checker.ts';
import type { TokenKind, Who } from './tokens.ts';
import { EVERYBODY } from './tokens.ts';

export const PLATFORM_NAMES = ['teamchat', 'phonechat', 'msgbot'] as const;
export type Platform = (typeof PLATFORM_NAMES)[number];

/**
 * On phonechat, `recycled` is the former number of the victim with a different id, and `hidden` is an id without a
 * number.
 */
export type Sender = 'own' | 'recycled' | 'hidden';

/** Selects a code or a link of a person, which others may have learned. `back` counts from the newest. */
interface Known {
  of: Who;
  back: number;
}

/** A sign-out at the site: everywhere, of one session, at the attacker's tenant only, or of a session without its person. */
export const SCOPES = ['all', 'phone', 'laptop', 'tenant', 'phone-only'] as const;
export type Scope = (typeof SCOPES)[number];

/** A move on a platform, or on the pages of the site that connect chats. */
export type ChatMove =
  | { do: 'write'; who: Who; platform: Platform; shared: boolean; sender: Sender }
  | {
      do: 'link';
      who: Who;
      platform: Platform;
      token: TokenKind;
      /** On phonechat, the person whose number is linked. On other platforms, `who` always links their own account. */
      target: Who;
      off: boolean;
    }
  | { do: 'make-code'; who: Who; token: TokenKind }
  | ({ do: 'send-code'; who: Who; platform: Platform; sender: Sender; way: Way } & Known)
  | ({
      do: 'answer';
      who: Who;
      platform: Platform;
      sender: Sender;
      approve: boolean;
      /** By a word, or by the button of the question about a code. */
      by: 'word' | 'button';
    } & Known)
  | ({
      do: 'confirm';
      who: Who;
      token: TokenKind;
      /** Whether the person looks first which chat has claimed the code, and ends a code that somebody else claimed. */
      looks: boolean;
    } & Known)
  | ({ do: 'look'; who: Who; token: TokenKind; ends: boolean } & Known)
  | { do: 'list'; who: Who; token: TokenKind }
  | ({ do: 'end-link'; who: Who; token: TokenKind } & Known)
  | {
      do: 'sign-out';
      /** The person who signs out. */
      who: Who;
      scope: Scope;
      by: 'site' | 'stranger' | 'user';
      /** Whether the site sends its last logout token again instead. */
      again: boolean;
    };

/** The tokens that a person shows the site or a platform. */
const SHOWN = [
  ['own', 6],
  ['phone', 3],
  ['laptop', 2],
  ['short', 4],
  ['anew', 2],
  ['renewed', 1],
  ['undated', 0.7],
  ['expired', 0.5],
  ['forged', 0.7],
  ['issuer', 0.4],
  ['audience', 0.4],
  ['tenant', 1],
] as const;

/** Makes the moves of a history on the platforms. */
export function chatMoves(chance: Chance): ChatMove[][] {
  const moves: ChatMove[][] = [];
  const scenes = 1 + chance.below(2) + (chance.is(0.2) ? 1 : 0);
  for (let number = 0; number < scenes; number++) moves.push(...scene(chance));
  const singles = chance.below(3);
  for (let number = 0; number < singles; number++)
    moves.splice(chance.below(moves.length + 1), 0, [single(chance)]);
  return moves;
}

/** A few moves that lead somewhere, of which some may be missing. Moves of one list happen at the same time. */
function scene(chance: Chance): ChatMove[][] {
  const who = chance.pick(EVERYBODY);
  const platform = chance.pick(PLATFORM_NAMES);
  const kind = chance.weighted([
    ['connect', 5],
    ['link', 2],
    ['ask', 3],
    ['sign-out', 3],
    ['thief', 2],
    ['heir', 1.5],
    ['tenant', 0.7],
  ] as const);
  const parts = {
    connect: () => connect(chance, who, platform),
    link: () => [[link(chance, who, platform)], [write(chance, who, platform)]],
    ask: () => [
      [write(chance, who, platform)],
      ...(chance.is(0.5) ? [[link(chance, who, platform)]] : connect(chance, who, platform)),
    ],
    'sign-out': () => [
      ...(chance.is(0.6) ? connect(chance, who, platform) : [[link(chance, who, platform)]]),
      chance.is(0.3) ? [signOut(chance, who), write(chance, who, platform)] : [signOut(chance, who)],
      [write(chance, who, platform)],
    ],
    // A code of somebody else is claimed with the attacker's account.
    thief: () => connect(chance, who, platform, 'attacker'),
    heir: () => heir(chance, who, platform),
    // A person of a tenant has the same `sub` as the victim, who signs out in every tenant.
    tenant: () => [
      [
        {
          ...link(chance, 'attacker', platform),
          token: 'tenant',
          target: 'attacker',
          off: false,
        } as ChatMove,
      ],
      [{ ...signOut(chance, 'victim'), scope: 'all', by: 'site', again: false } as ChatMove],
      [write(chance, 'attacker', platform)],
    ],
  }[kind]();
  return parts.filter(() => !chance.is(0.05));
}

function connect(chance: Chance, who: Who, platform: Platform, claimant: Who = who): ChatMove[][] {
  const sender: Sender = platform === 'phonechat' && chance.is(0.2) ? 'hidden' : 'own';
  const known = { of: who, back: 0 };
  const account = { who: claimant, platform, sender, ...known };
  const answer: ChatMove = {
    ...{ do: 'answer', ...account },
    ...{ approve: !chance.is(0.08), by: chance.pick(['word', 'button']) },
  };
  const confirm: ChatMove = {
    ...{ do: 'confirm', who, ...known, token: chance.weighted(SHOWN) },
    looks: who !== 'attacker',
  };
  const ends: ChatMove[][] = chance.is(0.2)
    ? [[answer, { ...confirm, token: 'own' }]]
    : chance.is(0.5)
      ? [[answer], [confirm]]
      : [[confirm], [answer]];
  return [
    [{ do: 'make-code', who, token: chance.weighted(SHOWN) }],
    [{ do: 'send-code', ...account, way: way(chance, platform, 0.85) }],
    ...(chance.is(0.15) ? [[single(chance)]] : []),
    ...ends,
    ...(chance.is(0.5) ? [[write(chance, claimant, platform)]] : []),
  ];
}

/** A chat is signed out, asks something, and is then connected with another person. */
function heir(chance: Chance, who: Who, platform: Platform): ChatMove[][] {
  const own = { do: 'link', who, platform, token: 'own', target: who } as const;
  const alone = { do: 'write', who, platform, shared: false, sender: 'own' } as const;
  return [
    [{ ...own, off: false }],
    [alone],
    [chance.is(0.7) ? { ...own, off: true } : signOut(chance, who)],
    [{ ...alone, shared: platform !== 'phonechat' && chance.is(0.2) }],
    ...(who === 'attacker'
      ? [[{ ...own, token: 'tenant', off: false } as const]]
      : connect(chance, 'attacker', platform, who)),
    [alone],
  ];
}

function single(chance: Chance): ChatMove {
  const who = chance.pick(EVERYBODY);
  const platform = chance.pick(PLATFORM_NAMES);
  const known = { of: chance.pick(EVERYBODY), back: chance.is(0.8) ? 0 : 1 };
  const token = chance.weighted(SHOWN);
  const sender = senderOn(chance, platform);
  const kind = chance.weighted([
    ['write', 8],
    ['link', 3],
    ['make-code', 1],
    ['send-code', 3],
    ['answer', 3],
    ['confirm', 2],
    ['look', 2],
    ['list', 3],
    ['end-link', 3],
    ['sign-out', 2],
  ] as const);
  switch (kind) {
    case 'write':
      return write(chance, who, platform);
    case 'link':
      return link(chance, who, platform);
    case 'make-code':
      return { do: kind, who, token };
    case 'send-code':
      return { do: kind, who, platform, sender, ...known, way: way(chance, platform, 0.5) };
    case 'answer':
      return {
        ...{ do: kind, who, platform, sender, ...known },
        ...{ approve: chance.is(0.8), by: chance.pick(['word', 'button']) },
      };
    case 'confirm':
      return { do: kind, who, token, ...known, looks: who !== 'attacker' };
    case 'look':
      return { do: kind, who, token, ...known, ends: chance.is(0.4) };
    case 'list':
      return { do: kind, who, token };
    case 'end-link':
      return { do: kind, who, token, ...known };
    case 'sign-out':
      return signOut(chance, who);
  }
}

function write(chance: Chance, who: Who, platform: Platform): ChatMove {
  const shared = platform !== 'phonechat' && chance.is(0.4);
  return { do: 'write', who, platform, shared, sender: shared ? 'own' : senderOn(chance, platform) };
}

function senderOn(chance: Chance, platform: Platform): Sender {
  return platform === 'phonechat' ? chance.pick(['own', 'own', 'own', 'recycled', 'hidden'] as const) : 'own';
}

function link(chance: Chance, who: Who, platform: Platform): ChatMove {
  return {
    ...{ do: 'link', who, platform, token: chance.weighted(SHOWN) },
    ...{ target: chance.is(0.15) ? 'victim' : who, off: chance.is(0.15) },
  };
}

function signOut(chance: Chance, who: Who): ChatMove {
  return {
    ...{
      do: 'sign-out',
      who,
      scope: chance.weighted([
        ['all', 5],
        ['phone', 2],
        ['laptop', 1],
        ['tenant', 1],
        ['phone-only', 1],
      ] as const),
    },
    ...{
      by: chance.weighted([
        ['site', 12],
        ['stranger', 1],
        ['user', 1],
      ] as const),
      again: chance.is(0.1),
    },
  };
}

function way(chance: Chance, platform: Platform, plain: number): Way {
  if (chance.is(plain)) return chance.pick(['alone', 'link', 'spelled'] as const);
  if (platform === 'phonechat') return chance.pick(['forwarded', 'within'] as const);
  return platform === 'msgbot'
    ? chance.pick(['forwarded', 'within', 'group'] as const)
    : chance.pick(['within', 'group'] as const);
}
