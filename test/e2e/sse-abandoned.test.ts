import { getEventListeners } from 'node:events';
import { join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/serve.ts';
import { configure } from '../../src/daemon/settings/configure/configure.ts';
import { sweepAll } from '../contract/store-writes.ts';
import { closeAtEnd } from '../support/close-at-end.ts';
import { baseEnv } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { read } from '../support/event-stream.ts';
import { collectLog } from '../support/log-lines.ts';
import { RawConnection, rawPost } from '../support/raw-http.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const STREAMS = effort(60, 1000);
const AT_ONCE = 50;

/** Starts a daemon in this process, so that its resources can be counted. */
async function daemonHere(): Promise<{ daemon: Daemon; directory: string }> {
  const directory = temporaryFolder('abandoned');
  const env = {
    ...baseEnv(directory),
    SSE_ENABLED: 'true',
    SSE_STREAM_TTL_SECONDS: '1',
    AGENT_RUNTIME: resolve(import.meta.dirname, '../fixtures/dictated-agent.ts'),
  };
  const daemon = await startDaemon(await configure({ env, cwd: directory }), collectLog().log);
  closeAtEnd(() => daemon.stop());
  return { daemon, directory };
}

/**
 * Counts the resources of each kind that occupy memory or keep the process alive, for example claims, locks, runs and
 * sockets.
 */
function held({ services }: Daemon): Record<string, number> {
  const resources = process.getActiveResourcesInfo();
  return {
    'streams that are read': services.broadcaster.size,
    'claims that are held': services.claims.size,
    'sessions that are locked': services.sessions.size,
    runs: services.running.size,
    'requests on the way': services.sequencer.size,
    'listeners for the stop': getEventListeners(services.stopping, 'abort').length,
    sockets: resources.filter((kind) => kind === 'TCPSocketWrap').length,
  };
}

/**
 * Starts a stream over a separate connection, and closes the connection. `fetch` would keep its connection open, and
 * the test would count it.
 */
async function start(url: string, body: object): Promise<string> {
  const connection = await RawConnection.open(url);
  await connection.write(rawPost('/sse/chat', body));
  const [answer] = await connection.responses(1);
  await connection.cut();
  const { stream_id } = JSON.parse(String(answer?.body)) as { stream_id: string };
  return stream_id;
}

function rowsIn(directory: string): number[] {
  const db = new Database(join(directory, 'state', 'agentd.db'), { readonly: true });
  try {
    const counts = [
      "SELECT count(*) FROM docs WHERE kind = 'stream'",
      `SELECT count(*) FROM items WHERE items LIKE '%"stream_start"%' OR items LIKE '%"text_chunk"%'`,
    ];
    return counts.map((sql) => db.prepare<[], number>(sql).pluck().get() ?? 0);
  } finally {
    db.close();
  }
}

it('the daemon frees all resources of hundreds of streams that were opened and dropped, or never opened', async () => {
  const { daemon, directory } = await daemonHere();
  const { url, services } = daemon;
  const before = held(daemon);

  let begun = 0;
  const started = new Set<string>();
  const abandon = async () => {
    while (begun < STREAMS) {
      const number = begun++;
      const stream_id = await start(url, { user_id: `visitor-${number}`, message: 'count 20' });
      started.add(stream_id);
      if (number % 2 === 0) continue;
      const reader = read(url, stream_id, { cutAfter: 1 + (number % 700) });
      await reader.ended;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, abandon));
  expect(started.size).toBe(STREAMS);
  expect(rowsIn(directory)[1]).toBeGreaterThan(0);

  // The runs continue without readers, and end. Then everything expires.
  await expect.poll(() => held(daemon)).toEqual(before);
  const expired = async () => {
    await sweepAll(services.store);
    return rowsIn(directory);
  };
  await expect.poll(expired).toEqual([0, 0]);
});
