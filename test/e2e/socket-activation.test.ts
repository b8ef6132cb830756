import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { effort, isThorough } from '../support/effort.ts';
import { withoutNotify } from '../support/notify-socket.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

/** Starts the daemon as systemd does for `config/agentd.socket`. SIGHUP restarts the daemon. */
const HOLDER = ['python3', join(import.meta.dirname, '../support/socket-holder.py')];

/** A runtime that, for the message "files", tells the daemon's socket and the files that a program of it inherits. */
const RUNTIME = `
import { execFileSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
export default {
  apiVersion: 1,
  async *run({ text }) {
    if (text !== 'files') { await new Promise((resolve) => setTimeout(resolve, 20)); yield text; return; }
    const listed = execFileSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' });
    const names = Object.keys(process.env).filter((name) => name.startsWith('LISTEN_'));
    yield JSON.stringify({ socket: readlinkSync('/proc/self/fd/3'), listed, names });
  },
};
`;

/** Makes bin/agentd.js believe that its Node.js is too old, so that it hands over to the pinned one. */
const OLD = `if (!process.env.AGENTD_HANDED_OVER) Object.defineProperty(process.versions, 'node', { value: '20.11.1' })`;

let directory: string;
let daemon: Agentd | null = null;
beforeEach(() => {
  directory = temporaryFolder('socket');
  writeFileSync(join(directory, 'runtime.mjs'), RUNTIME);
});
afterEach(async () => {
  await daemon?.stop();
  daemon = null;
});

async function start(env: Record<string, string> = {}): Promise<Agentd> {
  daemon = await startAgentd({ directory, under: HOLDER, env: { AGENT_RUNTIME: './runtime.mjs', ...env } });
  return daemon;
}

async function restart(running: Agentd): Promise<void> {
  running.forget();
  running.signal('SIGHUP');
  await running.logged(({ msg }) => msg === 'agentd is ready');
}

interface Seen {
  status: number | string;
  /** ms */
  took: number;
}

/** Sends messages one after the other until `isOver`, each on a connection of its own unless an agent keeps them. */
async function sendMessages(url: string, agent: Agent | false, isOver: () => boolean): Promise<Seen[]> {
  const seen: Seen[] = [];
  while (!isOver()) {
    const began = performance.now();
    const status = await statusOf(`${url}/webchat/message`, agent, `message ${seen.length}`);
    seen.push({ status, took: performance.now() - began });
  }
  return seen;
}

/** The status of the answer, or the error code if there is none. */
function statusOf(url: string, agent: Agent | false, message: string): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers: { 'Content-Type': 'application/json' } });
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.on('response', (response) => {
      response.resume();
      response.on('close', () => resolve(response.complete ? (response.statusCode ?? 0) : 'broken'));
    });
    sent.end(JSON.stringify({ user_id: 'ada', message }));
  });
}

describe.skipIf(withoutNotify)('a daemon that inherits its socket', () => {
  it.each<[string, Record<string, string>]>([
    ['without a delay', {}],
    ...effort<[string, Record<string, string>][]>(
      [],
      [
        [
          'with a delay in which it is not ready',
          { ADMIN_LISTEN: '127.0.0.1:0', SHUTDOWN_DELAY_SECONDS: '1' },
        ],
      ],
    ),
  ])('refuses no request of many clients while it is restarted, %s', async (_title, env) => {
    const running = await start(env);
    let isOver = false;
    let answers = 0;
    const more = async (count: number) => {
      const before = answers;
      await expect.poll(() => answers).toBeGreaterThan(before + count);
    };
    const agents: (Agent | false)[] = [
      false,
      false,
      false,
      false,
      new Agent({ keepAlive: true }),
      new Agent({ keepAlive: true }),
    ];
    const clients = agents.map((agent) =>
      sendMessages(running.url, agent, () => {
        answers++;
        return isOver;
      }),
    );
    for (let restarts = 0; restarts < effort(1, 3); restarts++) {
      await more(12);
      await restart(running);
    }
    await more(12);
    isOver = true;
    const seen = (await Promise.all(clients)).flat();
    for (const agent of agents) if (agent) agent.destroy();
    const statuses = Object.groupBy(seen, ({ status }) => String(status));
    expect(Object.entries(statuses).map(([status, all]) => [status, all?.length])).toEqual([
      ['200', seen.length],
    ]);
    if (process.env.FIGURES) console.log(seen.length, Math.max(...seen.map(({ took }) => took)));
  });

  it('serves on it instead of HOST and PORT, and passes it to no program', async () => {
    const running = await start({ HOST: '203.0.113.1', PORT: '1' });
    const { port } = new URL(running.url);
    expect(running.url).toBe(`http://127.0.0.1:${port}`);
    const { body } = await post(running.url, { user_id: 'ada', message: 'files' });
    const { socket, listed, names } = JSON.parse(body.response);
    expect(socket).toMatch(/^socket:/);
    expect(listed).not.toContain(socket);
    expect(names).toEqual([]);
    expect(running.log()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('PORT') }),
    );
  });

  it.runIf(isThorough)('gets it from the pinned Node.js, too, and only then', async () => {
    const running = await start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(OLD)}` });
    expect((await post(running.url, { user_id: 'ada', message: 'hello' })).body.response).toBe('hello');
    await restart(running);
    expect((await post(running.url, { user_id: 'ada', message: 'again' })).body.response).toBe('again');
  });
});
