import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ConfigurationError } from '../settings/problem.ts';
import type { Log } from './log.ts';

/** The program of systemd that sends a notification: Node.js has no Unix datagram sockets. */
const PROGRAM = 'systemd-notify';

/** How long the program may take. By itself, it waits at most 5 s until systemd has read the notification. */
const TIMEOUT_MS = 10_000;

/** The protocol's variables, sd_notify(3) and sd_watchdog_enabled(3). */
interface NotifyEnvironment {
  NOTIFY_SOCKET?: string | undefined;
  WATCHDOG_USEC?: string | undefined;
  WATCHDOG_PID?: string | undefined;
  PATH?: string | undefined;
}

/** Sends one notification. Rejects if it could not be sent. */
type SendNotification = (...assignments: string[]) => Promise<void>;

/**
 * Tells the service manager (systemd) that the daemon is ready, stopping, and alive (sd_notify(3)). It does nothing
 * unless NOTIFY_SOCKET is set.
 */
export class ServiceManager {
  readonly #send: SendNotification | null;
  readonly #log: Log;
  /** How often the manager requires a ping, ms; null if it requires none. */
  readonly #watchdog_ms: number | null;
  #timer: NodeJS.Timeout | undefined;
  #isPinging = false;
  /** The last ping failed, and that was logged. */
  #isSilent = false;

  constructor(env: NotifyEnvironment, log: Log, send: SendNotification | null = programFor(env)) {
    this.#send = send;
    this.#log = log;
    this.#watchdog_ms = readWatchdog(env);
  }

  /**
   * Call this when the daemon serves. From then on, a timer of the event loop sends pings. If the event loop is
   * blocked, no pings are sent, and the manager restarts the daemon.
   */
  ready(status: string): void {
    void this.#notify('READY=1', `STATUS=${status}`);
    if (this.#send === null || this.#watchdog_ms === null) return;
    this.#timer = setInterval(() => void this.#ping(), this.#watchdog_ms / 2);
    this.#timer.unref();
  }

  /**
   * Call this when the daemon begins to stop. Pings are sent until the end, since a drain may take longer than the
   * watchdog waits.
   */
  stopping(): void {
    void this.#notify('STOPPING=1', 'STATUS=Finishing the running requests');
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #notify(...assignments: string[]): Promise<void> {
    try {
      await this.#send?.(...assignments);
    } catch (error) {
      this.#log.error({ reason: describeError(error) }, `cannot notify systemd: ${assignments[0]}`);
    }
  }

  async #ping(): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    try {
      await this.#send?.('WATCHDOG=1');
      this.#isSilent = false;
    } catch (error) {
      if (!this.#isSilent)
        this.#log.error({ reason: describeError(error) }, 'cannot notify systemd: WATCHDOG=1');
      this.#isSilent = true;
    } finally {
      this.#isPinging = false;
    }
  }
}

/**
 * The manager of this process. Removes its variables from the environment, so that a program that the daemon starts
 * cannot send notifications in the daemon's name.
 */
export function serviceManager(log: Log, env: NodeJS.ProcessEnv = process.env): ServiceManager {
  const manager = new ServiceManager({ ...env }, log);
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  return manager;
}

/**
 * Sends notifications with `systemd-notify`. Null if no manager listens. The program gets no other variables, because
 * the environment may contain secrets.
 */
function programFor({ NOTIFY_SOCKET, PATH }: NotifyEnvironment): SendNotification | null {
  if (!NOTIFY_SOCKET) return null;
  const options = { env: { NOTIFY_SOCKET, PATH }, timeout: TIMEOUT_MS };
  return async (...assignments) => {
    await promisify(execFile)(PROGRAM, assignments, options);
  };
}

/** WATCHDOG_PID names this process, or its launcher if bin/agentd.js started the pinned Node.js. */
function readWatchdog({ WATCHDOG_USEC, WATCHDOG_PID }: NotifyEnvironment): number | null {
  if (WATCHDOG_PID && ![process.pid, process.ppid].includes(Number(WATCHDOG_PID))) return null;
  const usec = Number(WATCHDOG_USEC);
  return usec > 0 && Number.isFinite(usec) ? usec / 1000 : null;
}

function describeError(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string };
  return stderr?.trim() || message;
}

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
