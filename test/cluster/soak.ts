import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { read } from '../support/event-stream.ts';
import { startRedis } from '../support/redis-server.ts';
import { post } from '../support/webchat.ts';
import { Fleet } from './fleet.ts';

/** Memory and keys at one moment. */
export interface Sample {
  at_seconds: number;
  /** Resident memory of each daemon, MB. */
  daemons_mb: number[];
  redis_mb: number;
  /** How much of this belongs to records that are kept for days (`isKept`), MB. */
  redis_kept_mb: number;
  /** The number of keys of each kind, for example `session`. */
  keys: Record<string, number>;
  /** How many requests were answered since the last sample. */
  answered: number;
}

export interface Soak {
  turns: number;
  messages: number;
  streams: number;
  failed: number;
  samples: Sample[];
}

/** The kinds of keys that are kept for days. Each message and each trace adds to them. */
const KEPT = /^(?:seen|inbox_message|action|traces|refused|audit)/;
/** The number of keys of a kind whose memory is measured, to estimate the memory of all keys of the kind. */
const MEASURED = 200;

/** Whether keys of this kind are kept for days, and not only as long as their session or stream. */
export function isKept(kind: string): boolean {
  return KEPT.test(kind);
}

/**
 * Puts a mixed load on two daemons: virtual users arrive, chat and leave. Sessions and streams expire quickly, so that
 * growth that would otherwise take an hour shows within minutes.
 */
export async function soak({
  ms,
  every_ms,
  users,
}: {
  ms: number;
  every_ms: number;
  users: number;
}): Promise<Soak> {
  const redis = await startRedis();
  const env = { SESSION_TTL_SECONDS: '20', SSE_STREAM_TTL_SECONDS: '10', RATE_LIMIT_WINDOW_SECONDS: '5' };
  const fleet = await Fleet.start({ url: redis.url, replicas: 2, env });
  const began = performance.now();
  const result: Soak = { turns: 0, messages: 0, streams: 0, failed: 0, samples: [] };
  const isOver = () => performance.now() - began > ms;
  const visitor = async (n: number) => {
    for (let visit = 0; !isOver(); visit++) {
      const user_id = `u${n}-${visit}`;
      for (let turn = 0; turn < 5 && !isOver(); turn++) {
        const url = fleet.url(n + turn);
        const message = `turn ${turn}`;
        const kind = (n + turn) % 5;
        if (kind === 0) {
          const status = await fleet.deliver(url, user_id, message);
          if (status === 200) result.messages++;
          else result.failed++;
        } else if (kind === 1) {
          const { status, body } = await post(url, { user_id, message }, { path: '/sse/chat' });
          if (status === 200) await read(fleet.url(n), body.stream_id).holds('event: stream_complete');
          if (status === 200) result.streams++;
          else result.failed++;
        } else {
          const { status } = await post(url, { user_id, session_id: user_id, message });
          if (status === 200) result.turns++;
          else result.failed++;
        }
        await delay(100 + Math.random() * 400);
      }
    }
  };
  const keysByKind = async () => {
    const kinds = new Map<string, string[]>();
    for await (const some of redis.client.scanStream({ count: 1000 }))
      for (const key of some as string[]) {
        const kind = key.replace(/^agentd:\{store\}:([^:]*).*$/s, '$1');
        const keys = kinds.get(kind) ?? [];
        keys.push(key);
        kinds.set(kind, keys);
      }
    return kinds;
  };
  const bytesOf = async (keys: readonly string[]) => {
    const some = keys.slice(0, MEASURED);
    // A key may expire in the meantime.
    const sizes = await Promise.all(
      some.map(async (key) => Number(await redis.client.memory('USAGE', key, 'SAMPLES', 0))),
    );
    return (sizes.reduce((all, size) => all + size, 0) / Math.max(1, some.length)) * keys.length;
  };
  const sampling = async () => {
    let answered_before = 0;
    while (!isOver()) {
      await delay(every_ms);
      const kinds = [...(await keysByKind())];
      const kept = kinds.filter(([kind]) => isKept(kind)).map(([, keys]) => bytesOf(keys));
      const kept_bytes = (await Promise.all(kept)).reduce((all, bytes) => all + bytes, 0);
      const memory = await redis.client.info('memory');
      const answered = result.turns + result.messages + result.streams;
      result.samples.push({
        at_seconds: Math.round((performance.now() - began) / 1000),
        daemons_mb: fleet.replicas.map(({ pid }) => residentMb(pid)),
        redis_mb: inMb(Number(/^used_memory:(\d+)/m.exec(memory)?.[1])),
        redis_kept_mb: inMb(kept_bytes),
        keys: Object.fromEntries(kinds.map(([kind, keys]) => [kind, keys.length])),
        answered: answered - answered_before,
      });
      answered_before = answered;
    }
  };
  try {
    await Promise.all([sampling(), ...Array.from({ length: users }, (_, n) => visitor(n))]);
    return result;
  } finally {
    await fleet.stop();
    await redis.stop();
  }
}

function inMb(bytes: number): number {
  return Number((bytes / 2 ** 20).toFixed(1));
}

function residentMb(pid: number): number {
  const kb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return Math.round(kb / 1024);
}
