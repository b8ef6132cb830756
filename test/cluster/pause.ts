import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';

export interface Pause {
  sessions: number;
  /** Messages that the other replica did not answer during the pause. */
  unanswered: number;
  /** Replies that were sent more than once. */
  doubled: number;
  /** Turns that were stored more than once. */
  stored_twice: number;
  /** Claims that the paused replica had lost to the other replica. */
  lost_claims: number;
}

/**
 * Pauses a replica in the middle of turns, lets another replica take the turns over, and then lets the first replica
 * continue.
 */
export async function pause({ sessions, ms }: { sessions: number; ms: number }): Promise<Pause> {
  const redis = await startRedis();
  const fleet = await Fleet.start({ url: redis.url, replicas: 2, env: { LOG_LEVEL: 'info' } });
  // The second replica is started again when the first replica is paused.
  await fleet.kill(1);
  const { exchange } = fleet;
  const held = Promise.withResolvers<void>();
  const threads = Array.from({ length: sessions }, (_, n) => `t${n}`);
  // Holds the runs of the replica that will be paused.
  exchange.holdRun = () => (exchange.runs.length <= sessions ? held.promise : Promise.resolve());
  try {
    const [sleeping] = fleet.replicas;
    if (!sleeping) throw new Error('there is no replica');
    await Promise.all(threads.map((thread) => fleet.deliver(fleet.url(0), thread, 'held')));
    await exchange.until(() => exchange.runs.length === sessions);
    sleeping.signal('SIGSTOP');
    await fleet.startReplica(1);
    await delay(ms);
    const unanswered = threads.filter((thread) => exchange.textsTo(thread).length === 0).length;
    sleeping.signal('SIGCONT');
    held.resolve();
    const lost = () => sleeping.log().filter(({ msg }) => String(msg).includes('claim was lost')).length;
    const until = performance.now() + 10_000;
    while (lost() < 2 * sessions && performance.now() < until) await delay(100);
    const stored = await Promise.all(threads.map((thread) => fleet.store.sessions.turns(`telex:${thread}`)));
    return {
      sessions,
      unanswered,
      doubled: threads.filter((thread) => exchange.textsTo(thread).length > 1).length,
      stored_twice: stored.filter((turns) => turns.length > 1).length,
      lost_claims: lost(),
    };
  } finally {
    await fleet.stop();
    await redis.stop();
  }
}
