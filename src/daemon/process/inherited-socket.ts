import { ConfigurationError } from '../settings/problem.ts';

/** The first file descriptor that a service manager passes (sd_listen_fds(3)). */
const FIRST_FD = 3;

/**
 * The file descriptor of the listening socket that the service manager passes to this process; null if it passes none.
 * Removes the variables of the protocol from the environment, so that a program that the daemon starts does not take its
 * own file descriptor for this socket.
 * @throws ConfigurationError if it passes more than one socket
 */
export function inheritedSocket(env: NodeJS.ProcessEnv = process.env): number | null {
  const { LISTEN_FDS, LISTEN_PID } = env;
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete env[name];
  // The variables may have been inherited from a process for which the sockets were meant.
  if (LISTEN_PID !== String(process.pid) || LISTEN_FDS === undefined || LISTEN_FDS === '0') return null;
  if (LISTEN_FDS === '1') return FIRST_FD;
  throw new ConfigurationError([
    {
      setting: 'LISTEN_FDS',
      value: LISTEN_FDS,
      source: 'environment',
      problem: 'is not the number of sockets that the daemon can serve on',
      right: 'a socket unit with one ListenStream=, as in config/agentd.socket',
    },
  ]);
}
