import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { Fleet } from './fleet.ts';

export interface Processes {
  processes: number;
  turns_per_second: number;
  commands_per_turn: number;
  /** The number of cores that all daemons together keep busy. */
  daemon_cores: number;
  redis_cores: number;
}

const TICKS_PER_SECOND = 100;

/** Measures webchat turns on this many daemons that share one Redis. The clients send as fast as they can. */
export async function processes(
  count: number,
  { ms, clients }: { ms: number; clients: number },
): Promise<Processes> {
  const redis = await startRedis(['--appendonly', 'yes']);
  const env = { AGENT_RUNTIME: 'builtin', ADMIN_LISTEN: '', LOG_LEVEL: 'error' };
  const fleet = await Fleet.start({ url: redis.url, replicas: count, env });
  const agent = new Agent({ keepAlive: true });
  const cpu = () => [fleet.replicas.reduce((all, { pid }) => all + cpuOf(pid), 0), cpuOf(redis.pid)] as const;
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
    const [commands, [daemons, server], began] = [await commandsOf(redis), cpu(), performance.now()];
    await during(began + ms);
    const seconds = (performance.now() - began) / 1000;
    const [daemonsAfter, serverAfter] = cpu();
    return {
      processes: count,
      turns_per_second: Math.round(turns / seconds),
      commands_per_turn: Number((((await commandsOf(redis)) - commands) / turns).toFixed(2)),
      daemon_cores: Number(((daemonsAfter - daemons) / seconds).toFixed(2)),
      redis_cores: Number(((serverAfter - server) / seconds).toFixed(2)),
    };
  } finally {
    agent.destroy();
    await fleet.stop();
    await redis.stop();
  }
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
