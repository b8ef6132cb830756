import { expect, it } from 'vitest';
import { every, wait } from '../../../src/daemon/time/clock.ts';
import { Cancellation, TimeLimit } from '../../../src/daemon/time/time-limit.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const never = () => new Promise<never>(() => {});
const tick = () => new Promise(setImmediate);

it('a time limit ends work after the time has passed, even if the work ignores the signal', async () => {
  const clock = new VirtualClock(0);
  const limit = new TimeLimit(clock, 100);
  const work = limit.within(never());
  clock.moveTo(99);
  expect([limit.passed, limit.signal.aborted, limit.deadline]).toEqual([false, false, 100]);
  clock.moveTo(100);
  await expect(work).rejects.toMatchObject({ name: 'TimeoutError' });
  expect([limit.passed, limit.signal.aborted]).toEqual([true, true]);
});

it('a time limit also ends work when the first of its signals aborts, with the reason of that signal', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const cancelled = new Cancellation();
  const limit = new TimeLimit(new VirtualClock(0), 100, [one.signal, other.signal, cancelled]);
  const work = limit.within(never());
  other.abort(new Error('other'));
  one.abort(new Error('one'));
  cancelled.end(() => new Error('cancelled'));
  await expect(work).rejects.toThrow('other');
  await expect(limit.within(never())).rejects.toThrow('other');
  expect(limit.passed).toBe(false);
  for (const late of [one.signal, cancelled]) {
    const { signal } = new TimeLimit(new VirtualClock(0), 100, [late]);
    expect(() => signal.throwIfAborted()).toThrow(late === cancelled ? 'cancelled' : 'one');
  }
});

it('a time limit calls each listener once, even a listener that is added later, but no removed listener', () => {
  const clock = new VirtualClock(0);
  const limit = new TimeLimit(clock, 100);
  const reasons: unknown[] = [];
  limit.onEnd((reason) => reasons.push(reason));
  limit.onEnd(() => expect.fail('a removed listener was called'))();
  clock.moveTo(100);
  clock.moveTo(300);
  limit.onEnd((reason) => reasons.push(reason));
  const timeout = expect.objectContaining({ name: 'TimeoutError' });
  expect(reasons).toEqual([timeout, timeout]);
  expect(limit.signal.reason).toBe(reasons[0]);
});

it('a time limit that was lifted ends nothing', async () => {
  const clock = new VirtualClock(0);
  const [stop, cancelled] = [new AbortController(), new Cancellation()];
  const limit = new TimeLimit(clock, 100, [stop.signal, cancelled]);
  expect(await limit.within(Promise.resolve('done'))).toBe('done');
  limit.lift();
  clock.moveTo(200);
  stop.abort();
  cancelled.end(() => expect.fail('the reason was made for a lifted limit'));
  expect(limit.signal.aborted).toBe(false);
});

it('a wait ends early when its signal aborts', async () => {
  const clock = new VirtualClock(0);
  const stop = new AbortController();
  const waits = [wait(clock, 100), wait(clock, 100, stop.signal)];
  stop.abort(new Error('stop'));
  await expect(waits[1]).rejects.toThrow('stop');
  await expect(wait(clock, 100, stop.signal)).rejects.toThrow('stop');
  clock.moveTo(100);
  await waits[0];
});

it('repeated work does not start before its previous run has ended, and never after it was stopped', async () => {
  const clock = new VirtualClock(0);
  const at: number[] = [];
  let end = () => {};
  const stop = every(clock, 100, () => {
    at.push(clock.now());
    return new Promise<void>((resolve) => (end = resolve));
  });
  clock.moveTo(100);
  clock.moveTo(500);
  end();
  await tick();
  clock.moveTo(600);
  expect(at).toEqual([100, 600]);
  const stopped = stop();
  end();
  await stopped;
  clock.moveTo(1000);
  expect(at).toEqual([100, 600]);
});

it('a time limit starts again when it is restarted, but never lasts longer than it may in all', async () => {
  const clock = new VirtualClock(0);
  const limit = new TimeLimit(clock, 100);
  const work = limit.within(never());
  clock.moveTo(90);
  limit.restart(250);
  clock.moveTo(180);
  expect([limit.passed, limit.deadline]).toEqual([false, 190]);
  limit.restart(250);
  expect(limit.deadline).toBe(250);
  clock.moveTo(249);
  limit.restart(250);
  expect(limit.passed).toBe(false);
  clock.moveTo(250);
  await expect(work).rejects.toThrow('it took longer than 0.25 seconds');
  limit.restart(1_000);
  expect([limit.passed, limit.deadline]).toEqual([true, 250]);
});

it('a time limit is not shortened when it is restarted', () => {
  const clock = new VirtualClock(0);
  const limit = new TimeLimit(clock, 100);
  clock.moveTo(10);
  limit.restart(50);
  expect(limit.deadline).toBe(100);
});

it('the reason of an end is made once, and only if somebody is told', () => {
  let made = 0;
  const reasonOf = () => new Error(`reason ${++made}`);
  const untold = new TimeLimit(new VirtualClock(0), 100);
  untold.end(reasonOf);
  expect([untold.hasEnded, made]).toEqual([true, 0]);
  const told: unknown[] = [];
  untold.onEnd((reason) => told.push(reason));
  expect([untold.signal.aborted, untold.signal.reason]).toEqual([true, told[0]]);
  untold.end(() => expect.fail('a limit ended twice'));
  expect(made).toBe(1);
});
