import { createHash } from 'node:crypto';
import type { ChannelSettings, SecretValue, SimulatedEvent } from '../../../src/channel/index.ts';
import { idOf } from '../bot.ts';

/** The simulated bot. Its id is part of its token. */
export const BOT_USERNAME = 'agentd_bot';
export const BOT_NAME = 'agentd';

/** The people who write to the bot. */
export const PEOPLE = ['5550111', '5550112', '5550113'] as const;

/** A group with topics. */
export const GROUP = {
  id: -1005550100,
  title: 'The simulated group',
  type: 'supergroup',
  is_forum: true,
} as const;

/** The value of a secret setting. */
export function secretOf(settings: ChannelSettings, name: string): string {
  return (settings[name] as SecretValue | undefined)?.reveal() ?? '';
}

export function botId(token: string): number {
  return idOf(token) ?? numberOf(`bot ${token}`);
}

/** Ids of the platform are numbers. A name that is not a number gets a number that never changes. */
export function userId(user: string): number {
  return /^[1-9]\d{0,14}$/.test(user) ? Number(user) : numberOf(`user ${user}`);
}

export function topicId(thread: string): number {
  return /^[1-9]\d{0,8}$/.test(thread) ? Number(thread) : numberOf(`topic ${thread}`);
}

/** The chat of an event: the group, or the private chat, which has the same id as its person. */
export function roomOf({ place, user }: SimulatedEvent): number {
  return place === 'group' ? GROUP.id : userId(user);
}

/** A 31-bit number that is always the same for the same text. */
export function numberOf(words: string): number {
  return (createHash('sha256').update(words).digest().readUInt32BE() >>> 1) + 1;
}
