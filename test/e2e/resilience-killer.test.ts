import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { post } from '../support/webchat.ts';

const INNOCENT = Array.from({ length: 8 }, (_, index) => `innocent ${index}`);
/** How many times a message may kill the daemon: INBOX_MAX_ATTEMPTS. */
const DEATHS_MAX = 3;

it('a message that kills the process too often is given up, and the other messages are answered', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-killer-'));
  const exchange = await FakeExchange.start();
  let daemon: Agentd | null = null;
  onTestFinished(async () => {
    await daemon?.stop('SIGKILL');
    await exchange.close();
    await rm(directory, { recursive: true, force: true });
  });
  const env = { ...exchange.env(directory), INBOX_MAX_ATTEMPTS: String(DEATHS_MAX) };
  let deaths = 0;
  /** Restarts the daemon as a supervisor does: it may die again before it is ready. */
  const start = async (): Promise<Agentd> => {
    try {
      return await startAgentd({ directory, env });
    } catch {
      deaths++;
      return start();
    }
  };

  daemon = await start();
  // All nine messages run at once, and none of them ends before the first death.
  const together = INNOCENT.length + 1;
  const { promise: dead, resolve: die } = Promise.withResolvers<void>();
  exchange.holdRun = async ({ text }) => {
    if (exchange.runs.length > together) return;
    if (text === 'die') await exchange.until(() => exchange.runs.length === together);
    else await dead;
  };
  const texts = [...INNOCENT.slice(0, 4), 'die', ...INNOCENT.slice(4)];
  const messages = texts.map((text, index) => ({
    id: `m${index}`,
    user: `u${index}`,
    thread: `t${index}`,
    text,
  }));
  expect((await post(daemon.url, { messages }, { path: '/telex' })).status).toBe(200);
  await daemon.exited;
  deaths++;
  die();

  const isTold = () => exchange.textsTo('t4').length > 0;
  while (!isTold()) {
    daemon = await start();
    const died = daemon.exited.then(() => {
      deaths++;
    });
    await Promise.race([died, exchange.until(isTold)]);
  }

  expect(deaths).toBe(DEATHS_MAX);
  for (const [index, text] of texts.entries()) {
    const told = text === 'die' ? [expect.stringContaining('Sorry')] : [`re: ${text}`];
    expect(exchange.textsTo(`t${index}`)).toEqual(told);
  }
  for (const text of INNOCENT) expect(exchange.runs.filter((run) => run.text === text)).toHaveLength(2);
  expect(exchange.runs.filter(({ text }) => text === 'die')).toHaveLength(DEATHS_MAX);
  const state = { STATE_DIR: join(directory, 'state') };
  const failed = async () => {
    const { stdout } = await command(['inbox', 'list', '--json'], { env: { ...env, ...state } });
    return JSON.parse(stdout) as object[];
  };
  await expect
    .poll(failed, { interval: 200 })
    .toMatchObject([{ message_id: 'm4', state: 'failed', failure: 'interrupted', attempts: DEATHS_MAX }]);
});
