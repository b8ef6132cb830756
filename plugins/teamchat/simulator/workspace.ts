import { createHash } from 'node:crypto';
import type { SimulatedEvent } from '../../../src/channel/index.ts';

/** A workspace that does not exist. The ids have the platform's form. */
export const TEAM = 'T0SIMULATE';
export const APP = 'A0AGENTD';
export const BOT_USER = 'U0AGENTD';
export const BOT_ID = 'B0AGENTD';
export const BOT_NAME = 'agentd';
const LOUNGE = 'C0LOUNGE';
export const PEOPLE: readonly string[] = ['U0ADA', 'U0GRACE', 'U0LINUS'];

/** The only channel, or the direct messages of the sender. */
export function channelOf({ place, user }: Pick<SimulatedEvent, 'place' | 'user'>): string {
  return place === 'group' ? LOUNGE : `D${user.replace(/^[UW]/, '')}`;
}

/** The root of a thread; always the same for the same name. */
export function rootOf(thread: string): string {
  const digest = createHash('sha256').update(thread).digest();
  const seconds = 1_700_000_000 + (digest.readUInt32BE(0) % 10_000_000);
  return `${seconds}.${String(digest.readUInt32BE(4) % 1_000_000).padStart(6, '0')}`;
}
