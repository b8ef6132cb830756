import { describe, expect, it } from 'vitest';
import { inheritedSocket } from '../../../src/daemon/process/service-manager.ts';

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
