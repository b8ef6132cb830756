import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Store } from '../../../src/daemon/store/store.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import type { Benchmark, Effort, Sample } from '../benchmark.ts';
import { SECRET } from '../chat/people.ts';
import { type Server, type StartOptions, startServer } from '../process.ts';
import { median } from '../rounds.ts';
import { openStoreAt } from '../store.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The most starts per round, each with a new process. */
const STARTS = 3;

const SESSIONS_A_COMMIT = 100;

let directory = '';

/** The time from the start of the process until it listens, with the state of a busy site on disk. */
export const start: Benchmark = {
  name: 'start',
  work: 'from the start of the daemon until it listens, with a full store',
  limit: 'node:http that opens the same database',
  unit: 'ms',
  async prepare({ sessions }) {
    directory = await mkdtemp(join(tmpdir(), 'agentd-bench-start-'));
    await fill(sessions);
    return () => rm(directory, { recursive: true });
  },
  bare: {
    name: 'bare',
    round: (effort) => starts([file('bare.ts'), join(directory, 'agentd.db')], {}, effort),
  },
  ours: [
    {
      name: 'agentd serve',
      target: { value: 190, ambition: 150 },
      async round(effort) {
        const stderr = openSync(devNull, 'w');
        try {
          const env = {
            STATE_DIR: directory,
            PORT: '0',
            WEBCHAT_ENABLED: 'true',
            JWT_ALGORITHM: 'HS256',
            JWT_SECRET_KEY: SECRET,
          };
          return await starts(
            [file('../../../bin/agentd.js'), 'serve'],
            { cwd: directory, env, stderr },
            effort,
          );
        } finally {
          closeSync(stderr);
        }
      },
    },
  ],
};

async function starts(
  program: readonly string[],
  options: StartOptions,
  { spawns }: Effort,
): Promise<Sample> {
  const took: number[] = [];
  while (took.length < Math.min(STARTS, spawns)) {
    const server: Server = await startServer(program, options);
    took.push(server.ready_ms);
    await server.stop();
  }
  return { value: median(took) };
}

/** Stores sessions, each with one turn and its trace, in many commits, as a daemon does: then most are in the table. */
async function fill(sessions: number): Promise<void> {
  const store = openStoreAt(directory);
  const numbers = Array.from({ length: sessions }, (_, number) => number);
  while (numbers.length > 0)
    await Promise.all(numbers.splice(-SESSIONS_A_COMMIT).map((number) => addSession(store, number)));
  await store.close();
}

async function addSession(store: Store, number: number): Promise<void> {
  const now = Date.now();
  const common = { platform: 'webchat', user_id: 'visitor' };
  const ids = { turn_id: randomUUID(), request_id: randomUUID(), message_id: null };
  const session_id = `webchat_visitor_${number}`;
  const whole = { ...ids, ...common, started_at: now, finished_at: now };
  const session = {
    ...common,
    session_id,
    former_id: null,
    namespace: 'web',
    generated: true,
    owner: null,
    credential_owner: null,
    metadata: {},
    turns: 0,
    created_at: now,
    last_active_at: now,
    expires_at: now + 86_400_000,
  };
  const turn = {
    ...whole,
    person: null,
    text: 'Where is my order?',
    reply: 'On its way.',
    outcome: 'answered' as const,
    failure: null,
    credentials: 'default' as const,
    credentials_reason: 'no_token',
  };
  await saveSession(store, session);
  const trace = { ...whole, session_id, outcome: 'answered', lines: [] };
  await commitUnderClaim(store, session_id, { turn: { record: turn, ttl_ms: 86_400_000 }, trace });
}
