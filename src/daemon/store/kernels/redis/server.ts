import { StoreTooOld } from '../../failures.ts';
import type { RedisConnection } from './connection.ts';

const OLDEST = [7, 0] as const;

/** The configuration of a server; members are null if the server does not report them. */
export interface ServerFacts {
  version: readonly [major: number, minor: number];
  isValkey: boolean;
  evictionPolicy: string | null;
  /** The server logs each write (`appendonly yes`). */
  hasLog: boolean;
  /** `appendfsync`. */
  fsync: string | null;
  /** The server writes snapshots regularly. */
  hasSnapshots: boolean | null;
  replicas: number;
}

/** @throws StoreTooOld if the server is too old for the scripts. */
export async function lookAtServer(redis: RedisConnection): Promise<ServerFacts> {
  const [info, config] = await redis.send(() => {
    const [node] = redis.nodes;
    if (!node) throw new Error('no node of the Cluster can be reached');
    // Managed Redis services often refuse CONFIG.
    const asked = node.config('GET', 'appendfsync', 'save').catch(() => null);
    return Promise.all([node.info(), asked]);
  });
  const said = new Map(
    info.split('\r\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
  const configured = parseConfig(config);
  const [major = 0, minor = 0] = (said.get('redis_version') ?? '').split('.').map(Number);
  if (major < OLDEST[0]) throw new StoreTooOld(said.get('redis_version') ?? 'unknown', OLDEST.join('.'));
  const save = configured?.get('save');
  return {
    version: [major, minor],
    isValkey: said.has('valkey_version'),
    evictionPolicy: said.get('maxmemory_policy') ?? null,
    hasLog: said.get('aof_enabled') === '1',
    fsync: configured?.get('appendfsync') ?? null,
    hasSnapshots: save === undefined ? null : save !== '',
    replicas: Number(said.get('connected_slaves') ?? 0),
  };
}

/** Warnings about settings that could lose data, one sentence each. */
export function adviceOn(server: ServerFacts, isAlways: boolean): string[] {
  const advice: string[] = [];
  const { evictionPolicy, hasLog, hasSnapshots, fsync, replicas } = server;
  if (evictionPolicy !== null && evictionPolicy !== 'noeviction')
    advice.push(
      `Redis evicts keys if its memory is full (maxmemory-policy ${evictionPolicy}), so sessions and messages can be lost; set maxmemory-policy noeviction`,
    );
  if (!hasLog && hasSnapshots === false)
    advice.push(
      'Redis does not persist anything, so a restart of Redis loses every session and message; set appendonly yes',
    );
  else if (!hasLog)
    advice.push(
      'Redis has no append-only file, so a crash of Redis loses everything that was stored since its last snapshot; set appendonly yes',
    );
  if (hasLog && !hasWaitAof(server) && fsync !== 'always')
    advice.push(
      'A crash of Redis may make a tool repeat a write of the last second, because the journal of actions may not be on disk yet; set appendfsync always, or use Redis 7.2 or newer',
    );
  if (!hasLog) {
    const [event, writes] =
      hasSnapshots === false
        ? ['crash or restart', 'any earlier write']
        : ['crash', 'any write since the last snapshot'];
    const todo = knowsWaitAof(server) ? 'appendonly yes' : 'appendonly yes and appendfsync always';
    advice.push(
      `A ${event} of Redis may make a tool repeat ${writes}, because the journal of actions is not on disk; set ${todo}`,
    );
  }
  if (isAlways && !hasWaitAof(server) && replicas === 0 && !(hasLog && fsync === 'always'))
    advice.push(
      hasLog
        ? 'REDIS_DURABILITY=always has no effect: the server has no WAITAOF, no replica and not appendfsync always, so a crash of Redis loses the last second'
        : 'REDIS_DURABILITY=always has no effect: the server has no append-only file and no replica, so a crash of Redis loses acknowledged messages',
    );
  return advice;
}

/**
 * Whether the server can report that a write is on its disk: Redis 7.2 or newer, or Valkey, with an append-only file.
 */
export function hasWaitAof(server: ServerFacts): boolean {
  return server.hasLog && knowsWaitAof(server);
}

function knowsWaitAof({ version: [major, minor], isValkey }: ServerFacts): boolean {
  return isValkey || major > 7 || (major === 7 && minor >= 2);
}

/** Reads a list of names and values, or an object, depending on the protocol version. */
function parseConfig(reply: unknown): ReadonlyMap<string, string> | null {
  if (!Array.isArray(reply)) return reply === null ? null : new Map(Object.entries(reply as object));
  const found = new Map<string, string>();
  for (let place = 0; place < reply.length; place += 2) found.set(reply[place], reply[place + 1]);
  return found;
}
