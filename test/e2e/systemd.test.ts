import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { startAgentd } from '../support/daemon.ts';
import { NotifySocket, withoutNotify } from '../support/notify-socket.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

/**
 * A runtime that, for the message "block", creates the file `blocked`, and then blocks the event loop until the file
 * `go` exists.
 */
const RUNTIME = `
import { existsSync, writeFileSync } from 'node:fs';
const memory = new Int32Array(new SharedArrayBuffer(4));
export default {
  apiVersion: 1,
  async *run(turn) {
    if (turn.text === 'block') {
      writeFileSync('blocked', '');
      while (!existsSync('go')) Atomics.wait(memory, 0, 0, 10);
    }
    yield JSON.stringify(Object.keys(process.env).filter((name) => /^(?:NOTIFY|WATCHDOG)_/.test(name)));
  },
};
`;

const WATCHDOG_MS = 200;

/** Runs a program under the system call filter of the unit. The library that systemd uses loads the filter. */
const FILTERED = [
  'python3',
  join(import.meta.dirname, '../support/system-call-filter.py'),
  join(import.meta.dirname, '../../config/agentd.service'),
];

describe.skipIf(withoutNotify)('under a service manager', () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryFolder('systemd');
    writeFileSync(join(directory, 'runtime.mjs'), RUNTIME);
  });
  it('the daemon reports that it is serving, that its event loop is alive, and that it is stopping', async () => {
    const socket = await NotifySocket.open();
    const daemon = await startAgentd({
      directory,
      env: {
        NOTIFY_SOCKET: socket.name,
        WATCHDOG_USEC: String(WATCHDOG_MS * 1000),
        AGENT_RUNTIME: './runtime.mjs',
      },
    });
    await socket.seen('READY=1');
    expect(socket.received[0]).toBe(`READY=1\nSTATUS=Serving on ${daemon.url}`);
    await socket.seen('WATCHDOG=1', 2);

    const blocked = exists(join(directory, 'blocked'));
    const answer = post(daemon.url, { user_id: 'ada', message: 'block' });
    await blocked;
    const before = socket.count('WATCHDOG=1');
    await delay(5 * WATCHDOG_MS);
    // Pings that were sent before the loop was blocked may arrive late: two at most. A timer that is independent of the
    // loop would have sent ten.
    const silent = socket.count('WATCHDOG=1');
    expect(silent).toBeLessThanOrEqual(before + 2);

    writeFileSync(join(directory, 'go'), '');
    // The daemon removes these variables, so programs that it starts cannot report in its name.
    expect((await answer).body.response).toBe('[]');
    await socket.seen('WATCHDOG=1', silent + 1);

    daemon.signal('SIGTERM');
    await socket.seen('STOPPING=1');
    expect(await daemon.exited).toBe(0);
  });

  it('the journal gets each line with the priority of its level, warnings of Node.js included', async () => {
    writeFileSync(join(directory, 'runtime.mjs'), `process.emitWarning('careful');\n${RUNTIME}`);
    const daemon = await startAgentd({
      directory,
      env: { AGENT_RUNTIME: './runtime.mjs' },
      // What systemd does for a service whose standard error is the journal (systemd.exec(5), JOURNAL_STREAM).
      under: ['sh', '-c', 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$0" "$@"'],
    });
    expect(await daemon.stop()).toBe(0);
    const lines = daemon.stderr().trim().split('\n');
    expect(lines.filter((line) => !/^<\d>\{"level":"/.test(line))).toEqual([]);
    expect(lines.find((line) => line.includes('agentd is ready'))).toMatch(/^<6>/);
    const warning = lines.find((line) => line.includes('careful')) ?? '';
    expect(warning.slice(0, 3)).toBe('<4>');
    expect(JSON.parse(warning.slice(3))).toMatchObject({ level: 'warn', err: { message: 'careful' } });
  });

  it('the daemon serves under the system call filter of its unit, and its reports arrive on an abstract socket', async () => {
    const socket = await NotifySocket.open({ isAbstract: true });
    const daemon = await startAgentd({ directory, env: { NOTIFY_SOCKET: socket.name }, under: FILTERED });
    expect(readFileSync(`/proc/${daemon.pid}/status`, 'utf8')).toMatch(/^Seccomp:\s+2$/m);
    expect((await post(daemon.url, { user_id: 'ada', message: 'Who am I?' })).status).toBe(200);
    await socket.seen('READY=1');
    daemon.signal('SIGTERM');
    await socket.seen('STOPPING=1');
    expect(await daemon.exited).toBe(0);
    // No watchdog is set, so there are no pings.
    expect(socket.received).toHaveLength(2);
  });
});

async function exists(path: string): Promise<void> {
  const folder = join(path, '..');
  const changes = watch(folder);
  for (let found = existsSync(path); !found; found = existsSync(path)) await changes.next();
  await changes.return?.();
}
