import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { clientTag } from '../../../src/daemon/session/session.ts';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession, aTrace, aTurn } from '../../contract/fixtures.ts';
import { commitUnderClaim } from '../../contract/store-writes.ts';
import { fastStateDirectory } from './state-directory.ts';

const HOUR = 3_600_000;
const MAX = 1024 * 1024;

it('after a start, each commit counts a little, and the limit holds once all is counted', async () => {
  const path = join(fastStateDirectory(), 'agentd.db');
  let now = Date.now();
  const open = (anonymousMax?: number) => {
    const options = { role: 'daemon', clock: { now: () => now }, traceRetentionMs: HOUR } as const;
    return openSqliteStore(path, anonymousMax === undefined ? options : { ...options, anonymousMax });
  };
  let store = open();
  const keep = async (name: string) => {
    const session = aSession(++now, { session_id: name, client: clientTag(`192.0.2.${now % 4}`) });
    const turn = { record: aTurn({ text: 'x'.repeat(1500) }), ttl_ms: HOUR };
    await commitUnderClaim(store, name, { session, turn, trace: aTrace(session, { lines: [] }) });
  };
  const kept = async (names: readonly string[]) => {
    const found = await Promise.all(names.map((name) => store.sessions.find(name)));
    return found.filter((session) => session !== null).length;
  };
  const old = Array.from({ length: 1000 }, (_, n) => `old ${n}`);
  for (const name of old) await keep(name);
  await store.close();

  // The time for counting has passed after each step.
  let elapsed = 0;
  const slow = vi.spyOn(performance, 'now').mockImplementation(() => (elapsed += 1000));
  onTestFinished(() => slow.mockRestore());
  store = open(MAX);
  onTestFinished(() => store.close());
  await keep('new 0');
  expect(await kept(old)).toBe(1000);
  for (let n = 1; n < 2000 && (await kept(old.slice(0, 1))) === 1; n++) await keep(`new ${n}`);
  // A session takes 2.5 KB with its turn and trace.
  expect(await kept(old)).toBeLessThan(450);
  expect(await kept(['new 0'])).toBe(1);
});
