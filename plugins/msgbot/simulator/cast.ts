import { createHash } from 'node:crypto';
import type { ChannelSettings, SecretValue, SimulatedEvent } from '../../../src/channel/index.ts';

/** The bot of the stand-in; its id is the one in its token. */
export const BOT_USERNAME = 'agentd_bot';
export const BOT_NAME = 'agentd';

/** People who write. */
export const PEOPLE = ['5550111', '5550112', '5550113'] as const;

/** The group where several of them meet; it has topics. */
export const GROUP = {
  id: -1005550100,
  title: 'The simulated group',
  type: 'supergroup',
  is_forum: true,
} as const;

/** Of a setting that is a secret. */
export function secretOf(settings: ChannelSettings, name: string): string {
  return (settings[name] as SecretValue | undefined)?.reveal() ?? '';
}

export function botId(token: string): number {
  return Number(token.slice(0, token.indexOf(':')));
}

/** Ids of the platform are numbers; whoever is called otherwise gets one that stays the same. */
export function userId(user: string): number {
  return /^[1-9]\d{0,14}$/.test(user) ? Number(user) : numberOf(`user ${user}`);
}

export function topicId(thread: string): number {
  return /^[1-9]\d{0,8}$/.test(thread) ? Number(thread) : numberOf(`topic ${thread}`);
}

/** The room of an event: the group, or the chat with the person, which has the person's id. */
export function roomOf({ place, user }: SimulatedEvent): number {
  return place === 'group' ? GROUP.id : userId(user);
}

/** A number of 31 bits that stays the same for the same words. */
export function numberOf(words: string): number {
  return (createHash('sha256').update(words).digest().readUInt32BE() >>> 1) + 1;
}
