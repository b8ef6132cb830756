/**
 * `npm run load [-- --seconds N --connections N --json]`: a small load test. Starts this checkout's daemon with the sample
 * company on a free loopback port, has its customers ask "Who am I?", which calls the company's API as each of them, and
 * prints rate, latency and errors. It stops by itself. Exit code 1 if a message was not answered with 200.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SignJWT } from 'jose';
import { SAMPLE_PEOPLE } from '../../plugins/sample/people.ts';
import { drive, type LoadResult } from '../bench/load.ts';
import { startServer } from '../bench/process.ts';

const SECRET = 'a-secret-for-load-tests-of-at-least-256-bits';
const WARM_UP_MS = 2000;
const MAX = { seconds: 600, connections: 1000 };

const USAGE = `usage: npm run load [-- --seconds 1..${MAX.seconds} --connections 1..${MAX.connections} --json]`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '16' },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);

if (!isWithin(seconds, MAX.seconds) || !isWithin(connections, MAX.connections)) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const result = await load();
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : describe(result));
  if (result.refused > 0) process.exitCode = 1;
}

function isWithin(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

async function load(): Promise<LoadResult> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-load-'));
  const program = fileURLToPath(new URL('../../bin/agentd.js', import.meta.url));
  const env = {
    HOME: directory,
    PORT: '0',
    LOG_LEVEL: 'WARN',
    JWT_SECRET_KEY: SECRET,
    JWT_ALGORITHM: 'HS256',
    // All requests come from one address and a few people. What is measured is the daemon, not its limits.
    LOOP_GUARD_ENABLED: 'false',
    RATE_LIMIT_TOKEN_MAX: '100000000',
  };
  try {
    const server = await startServer([program, 'serve', '--dev'], { cwd: directory, env });
    try {
      const order = {
        port: server.port,
        pid: server.pid,
        connections,
        arrivals: { connections },
        warm_up_ms: WARM_UP_MS,
        steady_within_ms: WARM_UP_MS,
        measure_ms: seconds * 1000,
      };
      return await drive(order, await requests());
    } finally {
      await server.stop();
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Returns a function that makes the next request. Each person writes in as many sessions as there are connections. */
async function requests(): Promise<() => string> {
  const heads = await Promise.all(
    SAMPLE_PEOPLE.map(async ({ id, email, name }) => {
      const token = await new SignJWT({ sub: id, email, name })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuedAt()
        .setExpirationTime('2h')
        .sign(Buffer.from(SECRET));
      return { id, token };
    }),
  );
  let count = 0;
  return () => {
    const { id, token } = heads[count % heads.length] as { id: string; token: string };
    const session_id = `load-${id}-${Math.floor(count++ / heads.length) % connections}`;
    const body = JSON.stringify({ user_id: id, session_id, message: 'Who am I?' });
    return [
      'POST /webchat/message HTTP/1.1',
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      `Authorization: Bearer ${token}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
  };
}

function describe({ rate, p50_ms, p99_ms, acknowledged, refused }: LoadResult): string {
  return [
    `${connections} connections, ${seconds} s after ${WARM_UP_MS / 1000} s of warm-up`,
    `  answers per second  ${rate.toFixed(0)}`,
    `  latency             p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms`,
    `  answered            ${acknowledged}`,
    `  errors              ${refused}`,
    '',
  ].join('\n');
}
