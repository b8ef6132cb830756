import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { OutgoingReply } from '../../../src/channel/index.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { removeLink } from '../../../src/daemon/linking/links.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import type { LogLine } from '../../support/log-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

/* agentd-identity(7), "Links": users whose link a command has ended are told in the chat. */

const DAY = 24 * 60 * 60 * 1000;

let clock: VirtualClock;
let store: Store;
let services: Services;
let lines: LogLine[];
let sent: OutgoingReply[];
let send: (reply: OutgoingReply) => void;

beforeEach(async () => {
  clock = new VirtualClock(Date.now());
  store = openSqliteStore(join(fastStateDirectory(), 'agentd.db'), {
    role: 'daemon',
    clock,
    traceRetentionMs: DAY,
  });
  const opened = store;
  onTestFinished(() => opened.close());
  ({ services, lines } = await laterServices(store, clock));
  sent = [];
  send = (reply) => void sent.push(reply);
});

/** A daemon whose channel can write to users whose id does not begin with `-`. */
async function daemon(plugin = TELEX): Promise<InboxWorker> {
  const worker = new InboxWorker(services);
  const privateChat = (user_id: string) => (user_id.startsWith('-') ? null : { to: user_id });
  worker.add(plugin, { routes: [], send: async (reply) => send(reply), privateChat });
  await worker.start();
  onTestFinished(() => worker.stop());
  return worker;
}

/** Removes the link of a user, as `agentd link remove` does. */
async function remove(user_id: string): Promise<void> {
  const link = { key: `telex:jwt:${user_id}`, token: 'x', person: personKey({ sub: 'ada' }), ttl_ms: DAY };
  await store.links.put(link);
  expect(await removeLink(services, TELEX, user_id)).toBe(true);
}
const waiting = async () => (await store.inbox.list({ states: ['replied'], limit: 9 })).length;
const failed = async () => (await store.inbox.list({ states: ['failed'], limit: 9 })).length;

/** Lets the daemons look, and resolves when they have nothing more to do. */
async function pass(workers: readonly InboxWorker[], isDone: () => boolean | Promise<boolean>) {
  while (!(await isDone())) {
    clock.moveTo(clock.now() + 500);
    for (const worker of workers) await worker.idle();
    await new Promise(setImmediate);
  }
}

describe('a user whose link a command has removed', () => {
  it('is told once, by one of several daemons', async () => {
    const workers = [await daemon(), await daemon()];
    await remove('u1');
    await pass(workers, () => sent.length > 0);
    const end = clock.now() + 10_000;
    await pass(workers, () => clock.now() >= end);
    expect(sent).toMatchObject([{ reply_to: { to: 'u1' }, session_id: null }]);
    expect(sent[0]?.text).toMatch(/was ended by an administrator/);
    expect(await waiting()).toBe(0);
  });

  it('is told at the next start, if that is within a day', async () => {
    await remove('u1');
    clock.moveTo(clock.now() + DAY - 1000);
    await remove('u2');
    clock.moveTo(clock.now() + 1000);
    const workers = [await daemon()];
    await pass(workers, () => sent.length > 0);
    expect(sent.map(({ reply_to }) => reply_to)).toEqual([{ to: 'u2' }]);
  });

  it('waits while the channel is not active', async () => {
    await remove('u1');
    const workers = [await daemon({ ...TELEX, name: 'another' })];
    const end = clock.now() + 10_000;
    await pass(workers, () => clock.now() >= end);
    expect([sent, await waiting()]).toEqual([[], 1]);
  });

  it('is not told if the channel cannot write to them, which is a warning', async () => {
    await remove('-u1');
    const workers = [await daemon()];
    await pass(workers, async () => (await waiting()) === 0);
    expect([sent, await failed()]).toEqual([[], 0]);
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { failure: 'delivery_failed: the channel cannot write to a user first' },
    ]);
  });

  it('is not told if the platform refuses the text, which is a warning and not in the failed list', async () => {
    send = () => {
      throw new DeliveryFailed('no such chat', { final: true });
    };
    await remove('u1');
    const workers = [await daemon()];
    await pass(workers, () => lines.some(({ msg }) => msg === 'message has failed for good'));
    for (const worker of workers) await worker.idle();
    expect([await failed(), await store.inbox.counts()]).toEqual([0, []]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
