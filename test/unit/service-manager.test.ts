import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceManager, serviceManager } from '../../src/daemon/service-manager.ts';
import { until } from '../support/until.ts';

const SOCKET = '/run/systemd/notify';

let logged: string[];
let log: pino.Logger;
let sent: string[][];
beforeEach(() => {
  logged = [];
  log = pino({}, { write: (line: string) => logged.push(line) });
  sent = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

const send = (...assignments: string[]) => {
  sent.push(assignments);
  return Promise.resolve();
};
const pings = () => sent.filter(([first]) => first === 'WATCHDOG=1').length;

describe('the service manager', () => {
  it('hears that the daemon is ready and stopping', () => {
    const manager = new ServiceManager({ NOTIFY_SOCKET: SOCKET }, log, send);
    manager.ready('Serving');
    manager.stopping();
    expect(sent).toEqual([
      ['READY=1', 'STATUS=Serving'],
      ['STOPPING=1', 'STATUS=Finishing the running requests'],
    ]);
  });

  it('hears at half of WATCHDOG_USEC that the daemon is alive, from when it is ready to its end', async () => {
    const manager = new ServiceManager({ NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '30000000' }, log, send);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pings()).toBe(0);
    manager.ready('Serving');
    await vi.advanceTimersByTimeAsync(14_999);
    expect(pings()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(pings()).toBe(1);
    manager.stopping();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(pings()).toBe(2);
    manager.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pings()).toBe(2);
  });

  it.each([
    ['not set', undefined],
    ['empty', ''],
    ['0', '0'],
    ['no number', 'soon'],
  ])('hears nothing more if WATCHDOG_USEC is %s', async (_what, WATCHDOG_USEC) => {
    new ServiceManager({ NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC }, log, send).ready('Serving');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent).toEqual([['READY=1', 'STATUS=Serving']]);
  });

  it.each([
    ['this process', process.pid, 1],
    ['the launcher of this process', process.ppid, 1],
    ['another process', 2 ** 30, 0],
  ])('hears pings as WATCHDOG_PID says, if that is %s', async (_whose, pid, times) => {
    const env = { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '2000000', WATCHDOG_PID: String(pid) };
    new ServiceManager(env, log, send).ready('Serving');
    await vi.advanceTimersByTimeAsync(1000);
    expect(pings()).toBe(times);
  });

  it('gets one ping at a time, and the log one line for failures in a row', async () => {
    const outcomes: ((error?: Error) => void)[] = [];
    const manager = new ServiceManager(
      { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '2000000' },
      log,
      (...assignments) => {
        sent.push(assignments);
        if (assignments[0] !== 'WATCHDOG=1') return Promise.resolve();
        return new Promise((resolve, reject) => {
          outcomes.push((error) => (error ? reject(error) : resolve()));
        });
      },
    );
    manager.ready('Serving');
    await vi.advanceTimersByTimeAsync(5000);
    expect(pings()).toBe(1);
    for (const outcome of [new Error('no'), new Error('no'), undefined, new Error('no')]) {
      outcomes.shift()?.(outcome);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(pings()).toBe(5);
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'systemd was not told WATCHDOG=1', reason: 'no' },
      { msg: 'systemd was not told WATCHDOG=1', reason: 'no' },
    ]);
  });

  it('is not spoken to if NOTIFY_SOCKET is not set', async () => {
    const manager = serviceManager(log, { WATCHDOG_USEC: '2000000' });
    manager.ready('Serving');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(vi.getTimerCount()).toBe(0);
    manager.stopping();
    expect(logged).toEqual([]);
  });

  it('is known to the daemon alone: its variables leave the environment', () => {
    const env = { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '1', WATCHDOG_PID: '1', PATH: '/usr/bin' };
    serviceManager(log, env);
    expect(env).toEqual({ PATH: '/usr/bin' });
  });

  it('that cannot be told leaves a line in the log', async () => {
    vi.useRealTimers();
    serviceManager(log, { NOTIFY_SOCKET: '/nowhere/socket', PATH: '/nowhere' }).ready('Serving');
    await until(() => logged.length > 0);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({
      level: 50,
      msg: 'systemd was not told READY=1',
      reason: expect.stringContaining('ENOENT'),
    });
  });
});
