import inspector from 'node:inspector';
import { describeDaemon, describeDev } from './banner.ts';
import { type Dev, prepareDev } from './dev/prepare.ts';
import { createLog, isJournalStream, type Log, type ProcessLog } from './process/log.ts';
import { inheritedSocket, type ServiceManager, serviceManager } from './process/service-manager.ts';
import { type Daemon, startDaemon } from './serve.ts';
import { type ConfigLocation, configure } from './settings/configure/configure.ts';
import { withoutEnvFile } from './settings/sources.ts';
import { ContextEnded } from './time/time-limit.ts';

interface RunOptions extends ConfigLocation {
  /** `serve --dev` */
  dev: boolean;
  /** Prints data for the person who started the daemon, on stdout. */
  print(text: string): void;
}

/** Port of the debug listener that ENABLE_DEBUGPY opens. */
const DEBUG_PORT = 5678;

/**
 * The daemon as a process: configuration, log, signals, exit code. Resolves when it has stopped: to 0, or to 1 if the
 * grace period ended with a request unanswered. Throws the error that prevents its start.
 */
export async function runDaemon({ dev: wantsDev, print, ...location }: RunOptions): Promise<number> {
  outliveReaders();
  const dev = wantsDev ? await prepareDev(location) : null;
  let manager: ServiceManager | null = null;
  try {
    const socket = inheritedSocket();
    const found = {
      ...location,
      env: await withoutEnvFile(location),
      ...(dev ? { defaults: dev.defaults, structured: dev.structured } : {}),
    };
    const configuration = await configure(found);
    const { settings, warnings } = configuration;
    const log = createLog({
      level: settings.LOG_LEVEL,
      file: settings.LOG_FILE,
      format: settings.LOG_FORMAT,
      prefixed: isJournalStream(process.env.JOURNAL_STREAM),
    });
    for (const warning of warnings) log.warn({}, warning);
    if (settings.ENABLE_DEBUGPY) openInspector(log);
    logWarnings(log);
    dieLoudly(log);
    manager = serviceManager(log);

    const added = dev ? { simulated: dev.simulated, routes: await dev.shopRoutes(configuration) } : undefined;
    const daemon = await startDaemon(configuration, log, { dev: added, socket, location: found });
    dev?.useServices(daemon.services);
    reloadOnHangUp(daemon, log);
    // Registered before the daemon reports that it is ready, so that a signal that arrives immediately after this
    // report also stops the daemon.
    const stopped = untilStopped(daemon, log, manager);
    log.info(
      { address: daemon.url, channels: daemon.channels, store: daemon.store, agent: daemon.agent },
      'agentd is ready',
    );
    manager.ready(`Serving on ${daemon.url}`);
    print(dev ? await describeDev(daemon, dev) : describeDaemon(daemon));
    return await stopped;
  } finally {
    manager?.close();
    await (dev as Dev | null)?.close();
  }
}

/**
 * A command ends when the reader of its output goes away (main.ts). A daemon does not, even if standard error is a file
 * on a full disk: it continues without that log.
 */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error');
    stream.on('error', () => undefined);
  }
}

/** Listens on the loopback address only, because the inspector runs any code that a client sends to it. */
function openInspector(log: Log): void {
  const address = `127.0.0.1:${DEBUG_PORT}`;
  inspector.open(DEBUG_PORT, '127.0.0.1');
  // The inspector does not throw if it cannot listen, and the daemon starts without it.
  if (inspector.url() === undefined) {
    log.warn({}, `ENABLE_DEBUGPY: the inspector was not started, since ${address} is in use`);
    return;
  }
  log.warn(
    {},
    `ENABLE_DEBUGPY: the Node inspector listens on ${address}; anybody who can reach it controls this process`,
  );
}

/** Node.js prints its warnings as text. In the log they have a level and a time like all other lines. */
function logWarnings(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', (err) => log.warn({ err }, 'Node.js warns'));
}

/**
 * An error that nobody caught leaves the process in an unknown state: log it, exit, and let the supervisor restart it.
 */
function dieLoudly(log: ProcessLog): void {
  process.on('uncaughtException', (error) => {
    if (error instanceof ContextEnded) {
      // Nothing was done, so the state of the process is known.
      log.warn({ err: error }, 'a module used the context of a call or run that has ended; nothing was done');
      return;
    }
    log.beginLastLines();
    log.fatal({ err: error }, 'unexpected error; the daemon exits');
    process.exit(1);
  });
  // A write that exceeds the file-size limit must fail (503) instead of ending the process.
  process.on('SIGXFSZ', () => log.error({}, 'a file has reached the size limit of this process'));
  process.on('SIGHUP', () => {
    if (log.reopen()) log.info({}, 'log file reopened');
  });
}

/** A signal that arrives while the daemon starts only reopens the log file: the configuration has just been read. */
function reloadOnHangUp({ reloader }: Daemon, log: Log): void {
  process.on('SIGHUP', () => {
    reloader?.reload('SIGHUP').catch((err: unknown) => log.error({ err }, 'the reload failed'));
  });
}

/**
 * How soon after a signal the program that started this process passes on the same signal, ms, if it was sent to the
 * whole process group, as Ctrl-C on a terminal is.
 */
const ECHO_MS = 200;
/** Whether that program passes signals on: the launcher (bin/agentd.js) and npm do. */
const isEchoed = () => process.connected || process.env.npm_lifecycle_event !== undefined;

function untilStopped(daemon: Daemon, log: ProcessLog, manager: ServiceManager): Promise<number> {
  return new Promise((resolve, reject) => {
    let stopping: { since: number } | null = null;
    const exitAtOnce = (signal?: NodeJS.Signals) => {
      log.beginLastLines();
      log.warn({ signal }, 'second signal: exiting at once');
      process.exit(1);
    };
    const stop = (signal: NodeJS.Signals) => {
      if (stopping && isEchoed() && performance.now() - stopping.since < ECHO_MS) return;
      if (stopping) exitAtOnce(signal);
      stopping = { since: performance.now() };
      manager.stopping();
      const delay_ms = daemon.stopDelay;
      if (delay_ms > 0)
        log.info({ signal, delay_ms }, 'stopping: /ready answers 503, requests are still accepted');
      else log.info({ signal }, 'stopping: running requests finish, new ones get 503');
      daemon.stop().then((drained) => {
        log.beginLastLines();
        log.info(
          { drained },
          drained ? 'stopped' : 'stopped; the grace period ended with a request unanswered',
        );
        resolve(drained ? 0 : 1);
      }, reject);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    // From the launcher, which got the second signal itself: not an echo, however soon it follows the first.
    process.on('message', (message) => {
      if (stopping && message === 'second signal') exitAtOnce();
    });
  });
}
