import { setImmediate as tick } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { SessionLock } from '../../../../src/daemon/message/waits/session-lock.ts';
import { WaitLimit } from '../../../../src/daemon/message/waits/wait-limit.ts';
import { ClaimKeeper } from '../../../../src/daemon/store/claims/claim-keeper.ts';
import { CLAIM_MS } from '../../../../src/daemon/store/claims/claims.ts';
import { ClaimLost } from '../../../../src/daemon/store/failures.ts';
import { MemoryState } from '../../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../../src/daemon/store/kernels/memory/store.ts';
import type { ReplicaStore } from '../../../../src/daemon/store/replicas.ts';
import type { TurnChanges } from '../../../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../../../src/daemon/store/store.ts';
import { Cancellation } from '../../../../src/daemon/time/time-limit.ts';
import type { StepLine } from '../../../../src/daemon/trace/trace-record.ts';
import { aTrace } from '../../../contract/fixtures.ts';
import { collectLog } from '../../../support/log-lines.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const LIMITS = { max: 10, wait_ms: 30_000 };

let clock: VirtualClock;
let state: MemoryState;
let stopping: AbortController;

beforeEach(() => {
  clock = new VirtualClock(1_700_000_000_000);
  state = new MemoryState();
  stopping = new AbortController();
});

/** A daemon on the shared store. */
function daemon(limits: Partial<typeof LIMITS> = {}) {
  const store: Store = { ...openMemoryStore(state, { clock }), replicas: {} as ReplicaStore };
  const claims = new ClaimKeeper(clock, collectLog().log);
  const waits = new WaitLimit(clock, stopping.signal, { ...LIMITS, ...limits });
  const lock = new SessionLock({ store, claims, clock, waits });
  const acquire = async (
    tag: string,
    { line = { verdict: 'ok' } as StepLine, patient = false, lost = new Cancellation() } = {},
  ) => {
    const begun = await lock.acquire(
      tag,
      { session_id: tag, turn_key: null, token: null },
      { line, patient },
      lost,
    );
    const { claim } = begun;
    return {
      begun,
      commit: (changes: TurnChanges) => lock.commit(claim, changes),
      release: () => lock.release(claim),
    };
  };
  return { store, lock, claims, waits, acquire };
}

/** Moves the clock in small steps, because each timer may set another timer. */
async function pass(ms: number): Promise<void> {
  const end = clock.now() + ms;
  await tick();
  while (clock.now() < end) {
    clock.moveTo(Math.min(end, clock.now() + 250));
    await tick();
  }
}

describe('within a process', () => {
  it('the messages of one session run one at a time, in the order of requests, and other sessions do not wait', async () => {
    const { acquire, lock, waits } = daemon();
    const order: string[] = [];
    const first = await acquire('s');
    const asked = ['second', 'third'].map((name) =>
      acquire('s').then((locked) => {
        order.push(name);
        return locked;
      }),
    );
    const other = await acquire('other');
    order.push('other');
    expect([waits.waiting, lock.size]).toEqual([2, 2]);
    await first.release();
    await (await asked[0])?.release();
    await (await asked[1])?.release();
    await other.release();
    expect(order).toEqual(['other', 'second', 'third']);
    expect([waits.waiting, lock.size]).toEqual([0, 0]);
  });

  it('a message whose session is free does not count as waiting', async () => {
    const { acquire } = daemon({ max: 0 });
    const first = await acquire('s');
    const line: StepLine = { verdict: 'ok' };
    await expect(acquire('s', { line })).rejects.toMatchObject({ code: 'unavailable' });
    expect(line.reason).toBe('queue_full');
    await first.release();
    await (await acquire('s')).release();
  });

  it('a message that gives up waiting does not block the next message', async () => {
    const { acquire, lock } = daemon();
    const first = await acquire('s');
    const line: StepLine = { verdict: 'ok' };
    const late = acquire('s', { line }).catch((error: unknown) => error);
    await pass(15_000);
    const next = acquire('s');
    await pass(15_000);
    expect(await late).toMatchObject({ code: 'unavailable' });
    expect(line.reason).toBe('queue_wait');
    await first.release();
    await (await next).release();
    expect(lock.size).toBe(0);
  });

  it('a patient message waits beyond the limit, until the daemon stops', async () => {
    const { acquire, lock } = daemon();
    const first = await acquire('s');
    const line: StepLine = { verdict: 'ok' };
    const patient = acquire('s', { line, patient: true });
    await pass(10 * LIMITS.wait_ms);
    stopping.abort(new Error('stop'));
    await expect(patient).rejects.toMatchObject({ code: 'unavailable', message: 'The daemon is stopping.' });
    expect(line.reason).toBe('stopping');
    await first.release();
    expect(lock.size).toBe(0);
  });
});

describe('in two processes', () => {
  it('a claim of the session is tried again until the other process releases the session', async () => {
    const [one, other] = [daemon(), daemon()];
    const first = await one.acquire('s');
    const waiting = other.acquire('s');
    await pass(10_000);
    expect(other.waits.waiting).toBe(1);
    await first.release();
    await pass(250);
    const second = await waiting;
    expect(other.waits.waiting).toBe(0);
    await second.release();
  });

  it('the messages of one session run in the order of arrival at both', async () => {
    const [one, other] = [daemon(), daemon()];
    const order: number[] = [];
    const first = await one.acquire('s');
    const waiting: Promise<void>[] = [];
    for (const [n, { acquire }] of [one, other, one, one, other].entries()) {
      const run = async () => {
        const { commit, release } = await acquire('s');
        order.push(n);
        await commit({ trace: aTrace(null) });
        await release();
      };
      waiting.push(run());
      await pass(100);
    }
    await pass(2 * CLAIM_MS);
    await first.commit({ trace: aTrace(null) });
    await first.release();
    await pass(1500);
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect([one.lock.size, other.lock.size]).toEqual([0, 0]);
  });

  it('a message that gives up, or finds the queue full, does not hold up the messages of the other process', async () => {
    const [one, full, late] = [daemon(), daemon({ max: 0 }), daemon({ wait_ms: 1000 })];
    const first = await one.acquire('s');
    const next = one.acquire('s');
    await expect(full.acquire('s')).rejects.toMatchObject({ code: 'unavailable' });
    const gaveUp = ['asked', 'queued'].map(() => late.acquire('s').catch((error: unknown) => error));
    await pass(2000);
    for (const end of gaveUp) expect(await end).toMatchObject({ code: 'unavailable' });
    await first.release();
    await (await next).release();
    await (await one.acquire('s')).release();
  });

  it('the wait for the other process is limited', async () => {
    const [one, other] = [daemon(), daemon()];
    await one.acquire('s');
    const waiting = other.acquire('s').catch((error: unknown) => error);
    await pass(LIMITS.wait_ms);
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(other.lock.size).toBe(0);
  });

  it('the claim of a live process is renewed, and the claim of a dead process is taken over', async () => {
    const [one, other] = [daemon(), daemon()];
    const lost = new Cancellation();
    await one.acquire('s', { lost });
    const waiting = other.acquire('s', { patient: true });
    await pass(4 * CLAIM_MS);
    expect(lost.signal.aborted).toBe(false);
    one.claims.stop();
    await pass(CLAIM_MS + 250);
    await (await waiting).release();
  });

  it('a process that was paused learns that it has lost its claim, and does not affect the new owner', async () => {
    const [one, other] = [daemon(), daemon()];
    const first = await one.acquire('s');
    one.claims.stop();
    await pass(CLAIM_MS);
    const second = await other.acquire('s');
    const lost = new Cancellation();
    daemon().claims.hold(first.begun.claim, openMemoryStore(state, { clock }).sessions, lost);
    await pass(5000);
    expect(lost.signal.reason).toBeInstanceOf(ClaimLost);
    await first.release();
    const third = one.acquire('s');
    await pass(1000);
    expect(one.waits.waiting).toBe(1);
    await second.release();
    await pass(250);
    await (await third).release();
  });

  it('the commit of a turn ends its claim and does not report it as lost, but the next message waits for the release', async () => {
    const [one, other] = [daemon(), daemon()];
    const lost = new Cancellation();
    const first = await one.acquire('s', { lost });
    const next = one.acquire('s');
    expect(await first.commit({ trace: aTrace(null) })).toBe('committed');
    await pass(CLAIM_MS);
    const second = await other.acquire('s');
    expect([lost.signal.aborted, one.waits.waiting]).toEqual([false, 1]);
    await first.release();
    await second.release();
    await pass(250);
    await (await next).release();
  });

  it('a commit that is refused because the claim was lost does not affect the new owner', async () => {
    const [one, other] = [daemon(), daemon()];
    const first = await one.acquire('s');
    one.claims.stop();
    await pass(CLAIM_MS);
    const second = await other.acquire('s');
    expect(await first.commit({ trace: aTrace(null) })).toBe('lost');
    await first.release();
    expect(await second.commit({ trace: aTrace(null) })).toBe('committed');
  });

  it('a commit that fails leaves the claim in place until the release', async () => {
    const [one, other] = [daemon(), daemon()];
    const first = await one.acquire('s');
    one.store.commitTurn = () => Promise.reject(new Error('out of reach'));
    await expect(first.commit({ trace: aTrace(null) })).rejects.toThrow('out of reach');
    await first.release();
    await (await other.acquire('s')).release();
  });

  it('an error of the store when a session is claimed leaves no lock behind', async () => {
    const one = daemon();
    one.store.beginTurn = () => Promise.reject(new Error('disk'));
    await expect(one.acquire('s')).rejects.toThrow('disk');
    expect(one.lock.size).toBe(0);
  });
});
