import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  inheritedSocket,
  ServiceManager,
  serviceManager,
} from '../../../src/daemon/process/service-manager.ts';
import { until } from '../../support/until.ts';

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
  it('is notified when the daemon is ready and when it is stopping', () => {
    const manager = new ServiceManager({ NOTIFY_SOCKET: SOCKET }, log, send);
    manager.ready('Serving');
    manager.stopping();
    expect(sent).toEqual([
      ['READY=1', 'STATUS=Serving'],
      ['STOPPING=1', 'STATUS=Finishing the running requests'],
    ]);
  });

  it('is pinged at intervals of half of WATCHDOG_USEC, from when the daemon is ready until it ends', async () => {
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
    ['not a number', 'soon'],
  ])('gets no pings if WATCHDOG_USEC is %s', async (_what, WATCHDOG_USEC) => {
    new ServiceManager({ NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC }, log, send).ready('Serving');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent).toEqual([['READY=1', 'STATUS=Serving']]);
  });

  it.each([
    ['this process', process.pid, 1],
    ['the launcher of this process', process.ppid, 1],
    ['another process', 2 ** 30, 0],
  ])('gets pings only if WATCHDOG_PID names this process or its launcher: %s', async (_whose, pid, times) => {
    const env = { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '2000000', WATCHDOG_PID: String(pid) };
    new ServiceManager(env, log, send).ready('Serving');
    await vi.advanceTimersByTimeAsync(1000);
    expect(pings()).toBe(times);
  });

  it('gets only one ping at a time, and failures in a row are logged once', async () => {
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
      { msg: 'cannot notify systemd: WATCHDOG=1', reason: 'no' },
      { msg: 'cannot notify systemd: WATCHDOG=1', reason: 'no' },
    ]);
  });

  it('gets nothing if NOTIFY_SOCKET is not set', () => {
    const manager = serviceManager(log, { WATCHDOG_USEC: '2000000' });
    // Other tests of this process may have left timers.
    const before = vi.getTimerCount();
    manager.ready('Serving');
    expect(vi.getTimerCount()).toBe(before);
    manager.stopping();
    expect(logged).toEqual([]);
  });

  it('is hidden from child processes: the daemon removes its variables from the environment', () => {
    const env = { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '1', WATCHDOG_PID: '1', PATH: '/usr/bin' };
    serviceManager(log, env);
    expect(env).toEqual({ PATH: '/usr/bin' });
  });

  it('causes a line in the log if it cannot be notified', async () => {
    vi.useRealTimers();
    serviceManager(log, { NOTIFY_SOCKET: '/nowhere/socket', PATH: '/nowhere' }).ready('Serving');
    await until(() => logged.length > 0);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({
      level: 50,
      msg: 'cannot notify systemd: READY=1',
      reason: expect.stringContaining('ENOENT'),
    });
  });
});

const OURS = String(process.pid);

describe('the inherited socket', () => {
  it('is file descriptor 3 if the service manager passes one socket to this process', () => {
    expect(inheritedSocket({ LISTEN_FDS: '1', LISTEN_PID: OURS })).toBe(3);
  });

  it.each([
    {},
    { LISTEN_FDS: '0', LISTEN_PID: OURS },
    { LISTEN_FDS: '1' },
    { LISTEN_PID: OURS },
    { LISTEN_FDS: '1', LISTEN_PID: '1' },
    { LISTEN_FDS: '1', LISTEN_PID: String(process.ppid) },
    { LISTEN_FDS: '2', LISTEN_PID: '1' },
  ])('is missing with %o', (env) => {
    expect(inheritedSocket(env)).toBeNull();
  });

  it.each(['2', '-1', 'one', '1.5'])('is refused with LISTEN_FDS=%s', (LISTEN_FDS) => {
    expect(() => inheritedSocket({ LISTEN_FDS, LISTEN_PID: OURS })).toThrow(`LISTEN_FDS=${LISTEN_FDS}`);
  });

  it('is taken once: its variables are removed, so that no program of the daemon believes that it gets the socket', () => {
    const env = { LISTEN_FDS: '1', LISTEN_PID: '1', LISTEN_FDNAMES: 'agentd.socket', PATH: '/bin' };
    inheritedSocket(env);
    expect(env).toEqual({ PATH: '/bin' });
  });
});
