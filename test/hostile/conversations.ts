import { randomFrom, type SeededRandom } from '../support/chance.ts';

export type ChannelName = 'webchat' | 'sse' | 'teamchat' | 'phonechat' | 'msgbot';

/** How the person in a conversation is identified. */
export type Identity =
  /** Each message has a token. With `chosen`, the client chose the id of the session. */
  | 'signed-in'
  | 'chosen'
  /** Only the first message has a token. Later messages use the stored token. */
  | 'once'
  /** The first message has no token. Later messages have a token. */
  | 'late'
  /** No token, or an invalid token. */
  | 'anonymous'
  | 'expired'
  | 'forged'
  /** A user of a platform, with or without a link to a person. */
  | 'linked'
  | 'unlinked';

/** A conversation to play. It depends only on the seed and the index. */
export interface Conversation {
  index: number;
  /** The number of the person. */
  person: number;
  channel: ChannelName;
  identity: Identity;
  place: 'direct' | 'group';
  /** Whether the member of the group who interferes is signed in, too. */
  isStrangerLinked: boolean;
  /**
   * How often the person writes a message or reacts to a question. If a question is still open then, they react up to
   * two more times.
   */
  turns: number;
  random: SeededRandom;
}

const CHANNELS: readonly ChannelName[] = ['webchat', 'sse', 'teamchat', 'phonechat', 'msgbot'];
const WEB: readonly Identity[] = [
  ...(['signed-in', 'signed-in', 'chosen', 'chosen', 'once'] as const),
  ...(['late', 'anonymous', 'expired', 'forged'] as const),
];

export function makeConversation(seed: number, index: number): Conversation {
  const random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const channel = CHANNELS[index % CHANNELS.length] as ChannelName;
  const isWeb = channel === 'webchat' || channel === 'sse';
  // The driver can link only users of teamchat and phonechat.
  const known = channel !== 'msgbot' && random.chance(0.6);
  // A group is one room, in which only one conversation is played at a time.
  const place = (channel === 'teamchat' || channel === 'msgbot') && random.chance(0.3) ? 'group' : 'direct';
  return {
    index,
    person: index,
    channel,
    identity: isWeb ? random.pick(WEB) : known ? 'linked' : 'unlinked',
    place,
    isStrangerLinked: place === 'group' && channel !== 'msgbot' && random.chance(0.5),
    turns: 2 + random.below(3),
    random,
  };
}

/**
 * Makes a conversation of one of `persons` people. Consecutive conversations, one on each channel, belong to the same
 * person.
 */
export function makeCrowdConversation(seed: number, index: number, persons: number): Conversation {
  const { random, ...conversation } = makeConversation(seed, index);
  return {
    ...conversation,
    random,
    person: Math.floor(index / CHANNELS.length) % persons,
    place: 'direct',
    isStrangerLinked: false,
    turns: 3,
  };
}
