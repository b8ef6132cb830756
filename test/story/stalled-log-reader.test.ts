import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BIN, baseEnv } from '../harness/daemon.ts';

/** A runtime that ends the process when it is told to. */
const RUNTIME = `
export default {
  apiVersion: 1,
  async *run(turn) {
    if (turn.text === 'crash') setImmediate(() => { throw new Error('this ends the process'); });
    yield turn.text;
  },
};
`;

const folder = mkdtempSync(join(tmpdir(), 'agentd-stalled-'));
const AGENT_RUNTIME = join(folder, 'runtime.mjs');
beforeAll(() => writeFileSync(AGENT_RUNTIME, RUNTIME));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Stalled {
  url: string;
  child: ChildProcess;
  /** From now on standard error is read; resolves with all of it when the process has ended. */
  read(): Promise<string>;
  logFile: string;
}

let running: ChildProcess | null = null;
afterEach(() => void running?.kill('SIGKILL'));

/** A daemon whose standard error nobody reads yet. */
async function startStalled(): Promise<Stalled> {
  const directory = mkdtempSync(join(folder, 'daemon-'));
  const env = { ...baseEnv(directory), AGENT_RUNTIME, LOG_FILE: 'agentd.log', JWT_DEBUG: 'true' };
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

/** With JWT_DEBUG each of these requests logs its claims, 5 KB. */
async function fillLog(url: string, bytes: number): Promise<void> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = `${part({ alg: 'none' })}.${part({ note: 'n'.repeat(5000) })}.bm9uZQ`;
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  for (let left = bytes; left > 0; left -= 5000) {
    const answer = await fetch(`${url}/webchat/message`, { method: 'POST', headers, body: '{' });
    expect(answer.status).toBe(400);
    await answer.text();
  }
}

describe('a reader of standard error that has stalled', () => {
  it('costs nobody an answer, bounded memory, and the lines beyond 1 MiB, which are counted', async () => {
    const daemon = await startStalled();
    await fillLog(daemon.url, 2_500_000);
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
    // LOG_FILE has every line; standard error has all but the counted ones.
    expect(lines.length - notices.length + dropped).toBe(kept.length);
    expect(notices[0]).toMatchObject({ level: 'warn', msg: expect.stringContaining('dropped') });
    expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('does not keep a daemon from stopping', async () => {
    const daemon = await startStalled();
    await fillLog(daemon.url, 600_000);
    const exit = once(daemon.child, 'exit');
    daemon.child.kill('SIGTERM');
    expect((await exit)[0]).toBe(0);
  });

  it('gets the line of a crash if it is back within a moment; LOG_FILE has it in any case', async () => {
    const daemon = await startStalled();
    await fillLog(daemon.url, 600_000);
    const asked = ask(daemon.url, 'crash').catch(() => undefined);
    while (!readFileSync(daemon.logFile, 'utf8').includes('this ends the process'))
      await new Promise(setImmediate);
    const text = await daemon.read();
    await asked;
    expect(daemon.child.exitCode).toBe(1);
    expect(text.trimEnd().split('\n').at(-1)).toContain('this ends the process');
  });
});
