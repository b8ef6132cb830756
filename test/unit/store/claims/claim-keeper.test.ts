import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ClaimKeeper } from '../../../../src/daemon/store/claims/claim-keeper.ts';
import { ClaimLost } from '../../../../src/daemon/store/failures.ts';
import { Cancellation } from '../../../../src/daemon/time/time-limit.ts';
import { collectLog } from '../../../support/log-lines.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const CLAIM = { owner: 'me' };
const EVERY_MS = 4000;

/** A keeper of one claim. The test controls the results of the renewals with `renew`. */
function keeping(renew: () => Promise<boolean>) {
  const clock = new VirtualClock(0);
  const { log, lines } = collectLog();
  const keeper = new ClaimKeeper(clock, log);
  const lost = new Cancellation();
  const renewals: number[] = [];
  const port = {
    renew: (claim: typeof CLAIM) => {
      expect(claim).toBe(CLAIM);
      renewals.push(clock.now());
      return renew();
    },
  };
  const drop = keeper.hold(CLAIM, port, lost);
  const pass = async (times: number) => {
    for (let time = 0; time < times; time++) {
      clock.moveTo(clock.now() + EVERY_MS);
      await tick();
    }
  };
  return { keeper, lost, lines, renewals, drop, pass, port };
}

it('the keeper renews a claim every 4 seconds until it is dropped', async () => {
  const { keeper, lost, renewals, drop, pass } = keeping(async () => true);
  await pass(3);
  expect([renewals, keeper.size, lost.signal.aborted]).toEqual([[4000, 8000, 12_000], 1, false]);
  drop();
  await pass(3);
  expect([renewals.length, keeper.size]).toEqual([3, 0]);
});

it('the keeper reports a missing claim as lost, and does so only once', async () => {
  const { keeper, lost, lines, renewals, pass } = keeping(async () => false);
  await pass(2);
  expect(lost.signal.reason).toBeInstanceOf(ClaimLost);
  expect([renewals.length, keeper.size]).toEqual([1, 0]);
  expect(lines).toMatchObject([{ level: 'info', msg: expect.stringMatching(/claim was lost/) }]);
});

it('the keeper keeps a claim that could not be renewed, and tries again', async () => {
  const { lost, lines, renewals, pass } = keeping(() => Promise.reject(new Error('disk')));
  await pass(2);
  expect([renewals.length, lost.signal.aborted]).toEqual([2, false]);
  expect(lines[0]).toMatchObject({ level: 'warn', msg: expect.stringMatching(/could not renew a claim/) });
});

it('the keeper does not report a claim as lost if the claim was dropped during its renewal', async () => {
  const renewal = Promise.withResolvers<boolean>();
  const { lost, lines, drop, pass } = keeping(() => renewal.promise);
  await pass(1);
  drop();
  renewal.resolve(false);
  await tick();
  expect([lost.signal.aborted, lines]).toEqual([false, []]);
});

it('the keeper sends no second renewal while the store has not answered the first', async () => {
  const { renewals, pass } = keeping(() => new Promise(() => {}));
  await pass(4);
  expect(renewals).toEqual([4000]);
});

it('the keeper starts to renew again when it gets a claim after its only claim was dropped', async () => {
  const { keeper, renewals, drop, pass, port } = keeping(async () => true);
  drop();
  await pass(2);
  keeper.hold(CLAIM, port, new Cancellation());
  await pass(1);
  expect(renewals).toEqual([12_000]);
});
