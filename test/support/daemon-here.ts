import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeDaemon, describeDev } from '../../src/daemon/banner.ts';
import { prepareDev } from '../../src/daemon/dev/prepare.ts';
import { createLog } from '../../src/daemon/process/log.ts';
import { startDaemon } from '../../src/daemon/serve.ts';
import { configure } from '../../src/daemon/settings/configure/configure.ts';
import type { ConfigLocation } from '../../src/daemon/settings/sources.ts';
import { closeAtEnd } from './close-at-end.ts';
import { type Agentd, baseEnv, type StartOptions, watchOutput } from './daemon.ts';

/** A daemon in the process of the test. It has no process of its own to send signals to. */
export type DaemonHere = Omit<Agentd, 'pid' | 'signal' | 'exited' | 'stop'> & {
  /** Stops the daemon as SIGTERM does. */
  stop(): Promise<number | null>;
};

/** A run that a test holds up does not hold up the end of the test. */
const QUICK_STOP = { SHUTDOWN_GRACE_SECONDS: '1' };

/**
 * Starts a daemon from the sources in the process of the test. This needs a tenth of the CPU time of `startAgentd`,
 * which is for tests of the process: signals, exit codes, crashes, standard error, the build. It is stopped at the end.
 */
export async function startDaemonHere(
  options: Pick<StartOptions, 'env' | 'directory' | 'isKept'> & { dev?: boolean } = {},
): Promise<DaemonHere> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'agentd-test-'));
  const output = watchOutput();
  const location: ConfigLocation = {
    env: { ...baseEnv(directory), ...QUICK_STOP, ...options.env },
    cwd: directory,
  };
  // It is looked up in the working directory of the process.
  const { AGENT_RUNTIME: runtime } = location.env;
  if (runtime?.startsWith('./')) location.env.AGENT_RUNTIME = join(directory, runtime);
  const { daemon, dev } = await start(location, options.dev === true, output.writeError);
  output.write(dev ? await describeDev(daemon, dev) : describeDaemon(daemon));
  let stopped: Promise<number> | null = null;
  const end = async () => {
    const drained = await daemon.stop();
    await dev?.close();
    output.end(0);
    if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
    return drained ? 0 : 1;
  };
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  if (!options.isKept) closeAtEnd(stop);
  return { url: daemon.url, directory, ...output.output, stop };
}

async function start(location: ConfigLocation, wantsDev: boolean, print: (text: string) => void) {
  const dev = wantsDev ? await prepareDev(location) : null;
  if (dev) Object.assign(location, { defaults: dev.defaults, structured: dev.structured });
  const configuration = await configure(location);
  const { LOG_LEVEL: level, LOG_FILE: file } = configuration.settings;
  const writeError = (bytes: Uint8Array) => {
    print(Buffer.from(bytes).toString());
    return bytes.length;
  };
  const log = createLog({ level, file, format: 'JSON', writeError });
  for (const warning of configuration.warnings)
    if (!warning.startsWith('SHUTDOWN_GRACE_SECONDS (1)')) log.warn({}, warning);
  const added = dev ? { simulated: dev.simulated, routes: await dev.shopRoutes(configuration) } : undefined;
  const daemon = await startDaemon(configuration, log, { dev: added, location });
  dev?.useServices(daemon.services);
  return { daemon, dev };
}
