import { closeSync, openSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Effort, Sample, Target } from '../benchmark.ts';
import { measureServer, SATURATED, sampleOf } from '../http.ts';
import type { Arrivals, LoadResult } from '../load.ts';
import { DAEMON, type Server, startServer } from '../process.ts';
import { ENCRYPTION_KEY, SECRET } from './people.ts';
import { bareFile, countBare, countOurs, seedBare, seedOurs } from './state.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Expiry of the tokens. */
const exp = Math.floor(Date.now() / 1000) + 86_400;
/** The directory with the initial store, which each round copies. */
let template = '';

/** The form of a chat benchmark. */
interface Form {
  what: string;
  arrivals: Arrivals;
  /** Number of turns that each session has when the daemon starts. If it is not 0, there are fewer sessions. */
  turns: number;
  /** The figure that is compared. */
  value: 'rate' | 'p50_ms';
  target: Target;
}

/**
 * A message of a signed-in visitor through all steps over HTTP: rate limit, token, session, guard, identity,
 * agent (answers at once), turn and trace on disk, reply.
 */
function chatBenchmark(form: Form): Benchmark {
  const { what, turns, value, target } = form;
  return {
    name: 'chat',
    work: `synchronous chat, all steps, agent stubbed: ${what}`,
    limit:
      'node:http, HMAC check, session row with its conversation loaded and saved with better-sqlite3 NORMAL',
    unit: value === 'rate' ? 'requests/s' : 'ms',
    prepare: (effort) => prepare(effort, turns),
    bare: { name: 'bare', round: (effort) => bareRound(effort, form) },
    ours: [{ name: what, target, round: (effort) => chatRound(effort, {}, form) }],
  };
}

const USUAL: Form = {
  what: '64 connections',
  arrivals: SATURATED,
  turns: 0,
  value: 'rate',
  target: { ratio: 0.8, ambition: 1.2 },
};

export const chat = chatBenchmark(USUAL);
export const longChat = chatBenchmark({
  ...USUAL,
  what: 'sessions of 30 turns',
  turns: 30,
  target: { ratio: 0.65, ambition: 1.1 },
});
/** Latency at loads that a site has: requests do not wait for each other. */
export const calmChats = [
  chatBenchmark({
    ...USUAL,
    what: 'one connection, p50',
    arrivals: { connections: 1 },
    value: 'p50_ms',
    target: { ratio: 3, ambition: 2 },
  }),
  chatBenchmark({
    ...USUAL,
    what: '500 requests/s, p50',
    arrivals: { per_second: 500 },
    value: 'p50_ms',
    target: { ratio: 3, ambition: 2 },
  }),
];

async function prepare(effort: Effort, turns: number): Promise<() => Promise<void>> {
  const people = peopleOf(effort, turns);
  template = await mkdtemp(join(tmpdir(), 'agentd-bench-chat-'));
  await seedOurs(template, { people, exp, turns });
  seedBare(template, { people, exp, turns });
  return () => rm(template, { recursive: true });
}

const peopleOf = ({ people }: Effort, turns: number) => (turns === 0 ? people : Math.ceil(people / 4));

function bareRound(effort: Effort, form: Form): Promise<Sample> {
  return inCopy(async (directory) => {
    const seeded = countBare(directory).turns;
    const server = await startServer([file('bare.ts'), bareFile(directory)], { part: 'server' });
    const result = await talkWith(server, form, effort);
    return sampleOf(result, form.value, { turns: countBare(directory).turns - seeded });
  });
}

/** One round of the daemon. @param env further settings */
export function chatRound(
  effort: Effort,
  env: Readonly<Record<string, string>> = {},
  form: Form = USUAL,
): Promise<Sample> {
  return inCopy(async (directory) => {
    const seeded = await countOurs(directory);
    const { value, turns } = form;
    const result = await measureChat(directory, env, effort, form);
    const kept = await countOurs(directory);
    return sampleOf(result, value, {
      turns: kept.turns - seeded.turns,
      // The store drops old traces, so those of the seeded turns must not be among them.
      ...(turns === 0 ? { traces: kept.traces } : {}),
      'log lines': readFileSync(logFile(directory), 'utf8').split('"message answered"').length - 1,
    });
  });
}

/** Measures a daemon that keeps its log in the directory, and its store if no other is set. @param env further settings */
export async function measureChat(
  directory: string,
  env: Readonly<Record<string, string>>,
  effort: Effort,
  form: Form = USUAL,
): Promise<LoadResult> {
  const stderr = openSync(logFile(directory), 'w');
  const server = await startServer(DAEMON, {
    part: 'server',
    cwd: directory,
    env: { ...settings(directory), ...env },
    stderr,
  });
  const result = await talkWith(server, form, effort);
  closeSync(stderr);
  return result;
}

const logFile = (directory: string) => join(directory, 'log');

function talkWith(server: Server, { arrivals, turns }: Form, effort: Effort): Promise<LoadResult> {
  const people = peopleOf(effort, turns);
  return measureServer(server, file('load.ts'), arrivals, effort, { people, exp });
}

/**
 * The settings of the daemon. All other settings have their defaults: writes are durable, limits apply, and every
 * message is logged. The limit of messages is high, because so few people send so much.
 */
function settings(directory: string): Record<string, string> {
  return {
    STATE_DIR: directory,
    PORT: '0',
    WEBCHAT_ENABLED: 'true',
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: SECRET,
    TOKEN_ENCRYPTION_KEY: ENCRYPTION_KEY,
    JWT_ISSUER: 'https://shop.example.com',
    JWT_AUDIENCE: 'agentd',
    LOOP_GUARD_MAX_MESSAGES: '1000',
    AGENT_RUNTIME: file('agent.ts'),
  };
}

async function inCopy(round: (directory: string) => Promise<Sample>): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'agentd-bench-chat-round-'));
  try {
    await cp(template, directory, { recursive: true });
    return await round(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}
