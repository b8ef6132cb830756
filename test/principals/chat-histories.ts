import type { SeededRandom } from '../support/chance.ts';
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
export function chatMoves(random: SeededRandom): ChatMove[][] {
  const moves: ChatMove[][] = [];
  const scenes = 1 + random.below(2) + (random.chance(0.2) ? 1 : 0);
  for (let number = 0; number < scenes; number++) moves.push(...scene(random));
  const singles = random.below(3);
  for (let number = 0; number < singles; number++)
    moves.splice(random.below(moves.length + 1), 0, [single(random)]);
  return moves;
}

/** A few moves that lead somewhere, of which some may be missing. Moves of one list happen at the same time. */
function scene(random: SeededRandom): ChatMove[][] {
  const who = random.pick(EVERYBODY);
  const platform = random.pick(PLATFORM_NAMES);
  const kind = random.weighted([
    ['connect', 5],
    ['link', 2],
    ['ask', 3],
    ['sign-out', 3],
    ['thief', 2],
    ['heir', 1.5],
    ['tenant', 0.7],
  ] as const);
  const parts = {
    connect: () => connect(random, who, platform),
    link: () => [[link(random, who, platform)], [write(random, who, platform)]],
    ask: () => [
      [write(random, who, platform)],
      ...(random.chance(0.5) ? [[link(random, who, platform)]] : connect(random, who, platform)),
    ],
    'sign-out': () => [
      ...(random.chance(0.6) ? connect(random, who, platform) : [[link(random, who, platform)]]),
      random.chance(0.3) ? [signOut(random, who), write(random, who, platform)] : [signOut(random, who)],
      [write(random, who, platform)],
    ],
    // A code of somebody else is claimed with the attacker's account.
    thief: () => connect(random, who, platform, 'attacker'),
    heir: () => heir(random, who, platform),
    // A person of a tenant has the same `sub` as the victim, who signs out in every tenant.
    tenant: () => [
      [
        {
          ...link(random, 'attacker', platform),
          token: 'tenant',
          target: 'attacker',
          off: false,
        } as ChatMove,
      ],
      [{ ...signOut(random, 'victim'), scope: 'all', by: 'site', again: false } as ChatMove],
      [write(random, 'attacker', platform)],
    ],
  }[kind]();
  return parts.filter(() => !random.chance(0.05));
}

function connect(random: SeededRandom, who: Who, platform: Platform, claimant: Who = who): ChatMove[][] {
  const sender: Sender = platform === 'phonechat' && random.chance(0.2) ? 'hidden' : 'own';
  const known = { of: who, back: 0 };
  const account = { who: claimant, platform, sender, ...known };
  const answer: ChatMove = {
    ...{ do: 'answer', ...account },
    ...{ approve: !random.chance(0.08), by: random.pick(['word', 'button']) },
  };
  const confirm: ChatMove = {
    ...{ do: 'confirm', who, ...known, token: random.weighted(SHOWN) },
    looks: who !== 'attacker',
  };
  const ends: ChatMove[][] = random.chance(0.2)
    ? [[answer, { ...confirm, token: 'own' }]]
    : random.chance(0.5)
      ? [[answer], [confirm]]
      : [[confirm], [answer]];
  return [
    [{ do: 'make-code', who, token: random.weighted(SHOWN) }],
    [{ do: 'send-code', ...account, way: way(random, platform, 0.85) }],
    ...(random.chance(0.15) ? [[single(random)]] : []),
    ...ends,
    ...(random.chance(0.5) ? [[write(random, claimant, platform)]] : []),
  ];
}

/** A chat is signed out, asks something, and is then connected with another person. */
function heir(random: SeededRandom, who: Who, platform: Platform): ChatMove[][] {
  const own = { do: 'link', who, platform, token: 'own', target: who } as const;
  const alone = { do: 'write', who, platform, shared: false, sender: 'own' } as const;
  return [
    [{ ...own, off: false }],
    [alone],
    [random.chance(0.7) ? { ...own, off: true } : signOut(random, who)],
    [{ ...alone, shared: platform !== 'phonechat' && random.chance(0.2) }],
    ...(who === 'attacker'
      ? [[{ ...own, token: 'tenant', off: false } as const]]
      : connect(random, 'attacker', platform, who)),
    [alone],
  ];
}

function single(random: SeededRandom): ChatMove {
  const who = random.pick(EVERYBODY);
  const platform = random.pick(PLATFORM_NAMES);
  const known = { of: random.pick(EVERYBODY), back: random.chance(0.8) ? 0 : 1 };
  const token = random.weighted(SHOWN);
  const sender = senderOn(random, platform);
  const kind = random.weighted([
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
      return write(random, who, platform);
    case 'link':
      return link(random, who, platform);
    case 'make-code':
      return { do: kind, who, token };
    case 'send-code':
      return { do: kind, who, platform, sender, ...known, way: way(random, platform, 0.5) };
    case 'answer':
      return {
        ...{ do: kind, who, platform, sender, ...known },
        ...{ approve: random.chance(0.8), by: random.pick(['word', 'button']) },
      };
    case 'confirm':
      return { do: kind, who, token, ...known, looks: who !== 'attacker' };
    case 'look':
      return { do: kind, who, token, ...known, ends: random.chance(0.4) };
    case 'list':
      return { do: kind, who, token };
    case 'end-link':
      return { do: kind, who, token, ...known };
    case 'sign-out':
      return signOut(random, who);
  }
}

function write(random: SeededRandom, who: Who, platform: Platform): ChatMove {
  const shared = platform !== 'phonechat' && random.chance(0.4);
  return { do: 'write', who, platform, shared, sender: shared ? 'own' : senderOn(random, platform) };
}

function senderOn(random: SeededRandom, platform: Platform): Sender {
  return platform === 'phonechat' ? random.pick(['own', 'own', 'own', 'recycled', 'hidden'] as const) : 'own';
}

function link(random: SeededRandom, who: Who, platform: Platform): ChatMove {
  return {
    ...{ do: 'link', who, platform, token: random.weighted(SHOWN) },
    ...{ target: random.chance(0.15) ? 'victim' : who, off: random.chance(0.15) },
  };
}

function signOut(random: SeededRandom, who: Who): ChatMove {
  return {
    ...{
      do: 'sign-out',
      who,
      scope: random.weighted([
        ['all', 5],
        ['phone', 2],
        ['laptop', 1],
        ['tenant', 1],
        ['phone-only', 1],
      ] as const),
    },
    ...{
      by: random.weighted([
        ['site', 12],
        ['stranger', 1],
        ['user', 1],
      ] as const),
      again: random.chance(0.1),
    },
  };
}

function way(random: SeededRandom, platform: Platform, plain: number): Way {
  if (random.chance(plain)) return random.pick(['alone', 'link', 'spelled'] as const);
  if (platform === 'phonechat') return random.pick(['forwarded', 'within'] as const);
  return platform === 'msgbot'
    ? random.pick(['forwarded', 'within', 'group'] as const)
    : random.pick(['within', 'group'] as const);
}
