import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { SeededRandom } from '../support/chance.ts';

/**
 * Replaces everything in this process that could make two runs of one seed differ: random bytes, `Math.random` and the
 * time of day come from the simulation, and real timers are refused.
 * @returns a function that restores everything
 */
export function seedChance(random: SeededRandom, now: () => number): () => void {
  const { randomBytes, randomUUID } = crypto;
  const { random: mathRandom } = Math;
  const { now: dateNow } = Date;
  const { setTimeout, setInterval, setImmediate } = globalThis;
  const refuse = () => {
    throw new Error('a real timer was set in a simulation');
  };
  crypto.randomBytes = ((size: number) => random.bytes(size)) as typeof crypto.randomBytes;
  crypto.randomUUID = () => uuidOf(random.bytes(16));
  syncBuiltinESMExports();
  Math.random = random.next;
  Date.now = now;
  globalThis.setTimeout = refuse as unknown as typeof setTimeout;
  globalThis.setInterval = refuse as unknown as typeof setInterval;
  globalThis.setImmediate = refuse as unknown as typeof setImmediate;
  return () => {
    Object.assign(crypto, { randomBytes, randomUUID });
    syncBuiltinESMExports();
    Math.random = mathRandom;
    Date.now = dateNow;
    Object.assign(globalThis, { setTimeout, setInterval, setImmediate });
  };
}

function uuidOf(bytes: Buffer): ReturnType<typeof crypto.randomUUID> {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
