import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BIN, baseEnv } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A runtime that logs as many lines as the message says, or ends the process. */
const RUNTIME = `
export default {
  apiVersion: 1,
  async *run(turn) {
    if (turn.text === 'crash') setImmediate(() => { throw new Error('this ends the process'); });
    const lines = Number(turn.text.slice('log '.length)) || 0;
    for (let i = 0; i < lines; i++) turn.log.warn({ filler: '-'.repeat(1000) }, 'filling');
    yield turn.text;
  },
};
`;

const folder = temporaryFolder('stalled');
const AGENT_RUNTIME = join(folder, 'runtime.mjs');
beforeAll(() => writeFileSync(AGENT_RUNTIME, RUNTIME));

interface Stalled {
  url: string;
  child: ChildProcess;
  /** Starts to read standard error. Resolves to all of it when the process has ended. */
  read(): Promise<string>;
  logFile: string;
}

let running: ChildProcess | null = null;
afterEach(() => void running?.kill('SIGKILL'));

/** Starts a daemon. Nobody reads its standard error yet. */
async function startStalled(): Promise<Stalled> {
  const directory = mkdtempSync(join(folder, 'daemon-'));
  const env = { ...baseEnv(directory), AGENT_RUNTIME, LOG_FILE: 'agentd.log' };
  const child = spawn(process.execPath, [BIN, 'serve'], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  const [banner] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const url = /ready on (http:\S+)\n/.exec(banner)?.[1] ?? '';
  return {
    url,
    child,
    async read() {
      let text = '';
      child.stderr.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      await once(child, 'close');
      return text;
    },
    logFile: join(directory, 'agentd.log'),
  };
}

const ask = (url: string, message: string) =>
  fetch(`${url}/webchat/message`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user_id: 'ada', message }),
  });

/** Makes the runtime log this many lines of a little more than 1,000 bytes each. */
async function fillLog(url: string, lines: number): Promise<void> {
  expect((await ask(url, `log ${lines}`)).status).toBe(200);
}

describe('a stalled reader of standard error', () => {
  it('does not delay answers, and uses bounded memory; lines beyond 1 MiB are dropped and counted', async () => {
    const daemon = await startStalled();
    await fillLog(daemon.url, 2500);
    expect((await ask(daemon.url, 'still there?')).status).toBe(200);

    const reading = daemon.read();
    await ask(daemon.url, 'one more');
    daemon.child.kill('SIGTERM');
    const lines = (await reading)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(daemon.child.exitCode).toBe(0);

    const kept = readFileSync(daemon.logFile, 'utf8').trimEnd().split('\n');
    const notices = lines.filter(({ dropped }) => dropped !== undefined);
    const dropped = notices.reduce((sum, notice) => sum + Number(notice.dropped), 0);
    expect(dropped).toBeGreaterThan(500);
    // LOG_FILE has every line. Standard error has all lines except those that it counts as dropped.
    expect(lines.length - notices.length + dropped).toBe(kept.length);
    expect(notices[0]).toMatchObject({ level: 'warn', msg: expect.stringContaining('dropped') });
    expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('does not keep a daemon from stopping', async () => {
    const daemon = await startStalled();
    await fillLog(daemon.url, 600);
    const exit = once(daemon.child, 'exit');
    daemon.child.kill('SIGTERM');
    expect((await exit)[0]).toBe(0);
  });
});
