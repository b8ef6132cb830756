import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Postgres } from '../support/postgres.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';

export interface Processes {
  on: 'redis' | 'postgres';
  processes: number;
  turns_per_second: number;
  /** Scripts of Redis, or transactions of Postgres. */
  trips_per_turn: number;
  /** The number of cores that all daemons together keep busy. */
  daemon_cores: number;
  store_cores: number;
}

/** The store under load, and what it has done so far. */
interface Measured {
  url: string;
  trips(): Promise<number>;
  /** Seconds of CPU. */
  cpu(): Promise<number>;
  stop(): Promise<void>;
}

const TICKS_PER_SECOND = 100;

/**
 * Measures webchat turns on this many daemons that share one Redis, or one Postgres that writes to disk. The clients send
 * as fast as they can.
 */
export async function processes(
  count: number,
  { ms, clients, on = 'redis' }: { ms: number; clients: number; on?: Processes['on'] },
): Promise<Processes> {
  const store = await (on === 'redis' ? measuredRedis() : measuredPostgres());
  const env = {
    ...{ AGENT_RUNTIME: 'builtin', ADMIN_LISTEN: '', LOG_LEVEL: 'error' },
    // All clients have one address. Its window must not hold more hits than that of a client in production.
    RATE_LIMIT_WINDOW_SECONDS: '1',
  };
  const fleet = await Fleet.start({ url: store.url, replicas: count, env });
  const agent = new Agent({ keepAlive: true });
  const cpu = async () =>
    [fleet.replicas.reduce((all, { pid }) => all + cpuOf(pid), 0), await store.cpu()] as const;
  try {
    let turns = 0;
    const during = async (end: number) => {
      const client = async (n: number) => {
        for (let turn = 0; performance.now() < end; turn++) {
          const body = JSON.stringify({ user_id: `u${n}`, session_id: `s${n}`, message: `hello ${turn}` });
          await turnAt(agent, fleet.url(n), body);
          turns++;
        }
      };
      await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
    };
    await during(performance.now() + ms / 4);
    turns = 0;
    const [trips, [daemons, server], began] = [await store.trips(), await cpu(), performance.now()];
    await during(began + ms);
    const seconds = (performance.now() - began) / 1000;
    const [daemonsAfter, serverAfter] = await cpu();
    return {
      on,
      processes: count,
      turns_per_second: Math.round(turns / seconds),
      trips_per_turn: Number((((await store.trips()) - trips) / turns).toFixed(2)),
      daemon_cores: Number(((daemonsAfter - daemons) / seconds).toFixed(2)),
      store_cores: Number(((serverAfter - server) / seconds).toFixed(2)),
    };
  } finally {
    agent.destroy();
    await fleet.stop();
    await store.stop();
  }
}

async function measuredRedis(): Promise<Measured> {
  const redis = await startRedis(['--appendonly', 'yes']);
  return {
    url: redis.url,
    trips: () => commandsOf(redis),
    cpu: async () => cpuOf(redis.pid),
    stop: () => redis.stop(),
  };
}

async function measuredPostgres(): Promise<Measured> {
  const server = await Postgres.start({ durable: true, options: ['track_functions=pl'] });
  const url = await server.createDatabase();
  return {
    url,
    async trips() {
      // The connections report what they have done once a second.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const calls = 'SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions';
      return Number(await server.sql(`${calls} WHERE funcname IN ('agentd_read', 'agentd_commit')`, url));
    },
    async cpu() {
      const pids = await server.sql('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()', url);
      return pids.split('\n').reduce((sum, pid) => sum + cpuOf(Number(pid)), 0);
    },
    stop: () => server.stop(),
  };
}

/** Seconds of CPU that a process has used. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Number of scripts that the server has run: its count of EVALSHA. */
export async function commandsOf({ client }: RedisServer): Promise<number> {
  const stats = await client.info('commandstats');
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}

function turnAt(agent: Agent, url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const asked = request(`${url}/webchat/message`, { agent, method: 'POST', headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`a turn was answered with status ${response.statusCode}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
