import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-message(7), "Blocked messages", on a channel that answers later.

const PATIENT = { LOOP_GUARD_WINDOW_SECONDS: '600', LOOP_GUARD_REPEAT_WINDOW_SECONDS: '600' };

let directory: string;
let exchange: FakeExchange;
let daemon: Agentd;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-guard-'));
  exchange = await FakeExchange.start();
});
afterEach(async () => {
  await daemon.stop('SIGKILL');
  await exchange.close();
  await rm(directory, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<void> {
  daemon = await startAgentd({
    directory,
    env: { ...exchange.env(directory), LOOP_GUARD_ENABLED: '', ...PATIENT, ...env },
  });
}

/** Sends one webhook per message. Each webhook is answered with 200. */
async function tell(...messages: { id: string; text?: string; user?: string; sent_at?: number }[]) {
  for (const message of messages) {
    const body = { messages: [{ user: 'u1', thread: 't1', text: message.id, ...message }] };
    expect((await post(daemon.url, body, { path: '/telex' })).status).toBe(200);
  }
}

const ids = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n + 1}` }));

function lines(): string[] {
  return daemon
    .log()
    .map(({ msg }) => String(msg))
    .filter((msg) => msg.startsWith('[LoopGuard]'));
}

test('a blocked message and its repeat get a 200 and no reply, and `agentd explain` shows the verdict', async () => {
  await start();
  await tell(...ids(8), { id: 'm6' }, { id: 'm2' }, { id: 'other', user: 'u2' });
  await exchange.until(() => exchange.textsTo('t1').includes('re: other'));
  expect(exchange.textsTo('t1')).toEqual([1, 2, 3, 4, 5].map((n) => `re: m${n}`).concat('re: other'));
  expect(lines()).toEqual([
    '[LoopGuard] CIRCUIT_OPEN reason=rate_limit 6/5 platform=telex user=u1',
    '[LoopGuard] DUPLICATE platform=telex user=u1 message_id=m6',
    '[LoopGuard] DUPLICATE platform=telex user=u1 message_id=m2',
  ]);
  const { stdout } = await command(['explain', 'telex:m6', '--json'], {
    cwd: directory,
    env: exchange.env(directory),
  });
  expect(JSON.parse(stdout).traces).toMatchObject([
    {
      outcome: 'loop_guard_blocked',
      message_id: 'm6',
      lines: [{ step: 'guard', verdict: 'refused', reason: 'rate_limit', detail: { count: 6, max: 5 } }],
    },
  ]);
});

test('a backlog that is delivered after an outage is not a burst, in whatever order it arrives', async () => {
  await start({ LOOP_GUARD_WINDOW_SECONDS: '10' });
  const then = Date.now() - 3_600_000;
  const ages = [60, 0, 100, 20, 80, 40, 120, 140];
  // Some platforms send times with microseconds.
  await tell(...ages.map((age) => ({ id: `a${age}`, sent_at: then - age * 1000 + 0.123 })));
  await exchange.until(() => exchange.textsTo('t1').length === ages.length);
  expect(lines()).toEqual([]);
});

test('messages that were sent as a burst count as a burst, however late they arrive', async () => {
  await start({ LOOP_GUARD_WINDOW_SECONDS: '10' });
  const then = Date.now() - 3_600_000;
  await tell(...ids(7).map(({ id }, n) => ({ id, sent_at: then + n * 1000 })), { id: 'now' });
  await exchange.until(() => exchange.textsTo('t1').includes('re: now'));
  expect(exchange.textsTo('t1')).toHaveLength(6);
  expect(lines()).toEqual(['[LoopGuard] CIRCUIT_OPEN reason=rate_limit 6/5 platform=telex user=u1']);
});

test('the first message over the limit of turns gets one notice that says when the session continues', async () => {
  await start({ LOOP_GUARD_MAX_TURNS_PER_SESSION: '2' });
  await tell(...ids(4), { id: 'm3' });
  await exchange.until(() => exchange.taken.length === 3);
  const notice =
    /^This conversation has reached its message limit \(2\)\. It can continue after \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)\.$/;
  expect(exchange.textsTo('t1').filter((text) => notice.test(text))).toHaveLength(1);
  expect(exchange.textsTo('t1').filter((text) => text.startsWith('re: '))).toEqual(['re: m1', 're: m2']);
  expect(lines()).toEqual([
    '[LoopGuard] TURN_LIMIT session=telex:t1 turns=2/2',
    '[LoopGuard] DUPLICATE platform=telex user=u1 message_id=m3',
  ]);
  await tell({ id: 'm5' });
  expect(exchange.taken).toHaveLength(3);
});
