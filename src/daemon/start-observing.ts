import { commit, version } from './files/version.ts';
import { createAdminServer, metricsRoute, Readiness } from './http/admin-server.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Lifecycle } from './process/lifecycle.ts';
import type { Log } from './process/log.ts';
import { parseListenAddress } from './settings/addresses.ts';
import type { Settings } from './settings/settings.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { exportsTraces, telemetryOptions } from './telemetry/telemetry-options.ts';
import { observers } from './trace/observer.ts';

/** What others see of the daemon: its listener for probes, its metrics and its traces. */
export async function startObserving(
  settings: Settings,
  log: Log,
  life: Lifecycle,
  /** Time that is left to export the last traces when the daemon stops, ms. */
  leftMs: () => number,
) {
  const readiness = new Readiness();
  const metrics = settings.ADMIN_LISTEN === undefined ? null : await createMetrics();
  const telemetry = exportsTraces(settings) ? await startTelemetry(settings, log) : null;
  const observer = observers([metrics, telemetry?.observer ?? null].filter((observer) => observer !== null));
  const adminUrl = await listenForProbes(settings, { readiness, metrics }, life, log);
  life.started('telemetry', async () => {
    if (telemetry && !(await telemetry.stop(leftMs()))) log.warn({}, 'the last traces could not be exported');
  });
  return { readiness, metrics, observer, adminUrl };
}

/** The metrics library is loaded only if somebody can ask for metrics. */
async function createMetrics(): Promise<Metrics> {
  const { Metrics } = await import('./metrics/metrics.ts');
  return new Metrics({ version: version(), commit: commit() });
}

/** The SDK is loaded only if traces are exported. */
async function startTelemetry(settings: Settings, log: Log): Promise<Telemetry> {
  const options = telemetryOptions(settings);
  const { createTelemetry } = await import('./telemetry/telemetry.ts');
  const { origin } = new URL(options.url);
  log.info({ collector: origin, protocol: options.protocol }, 'traces are exported');
  return createTelemetry(options, log);
}

/**
 * The listener of ADMIN_LISTEN is the first part to start and the last to stop, so that it can say that the daemon
 * is starting or stopping.
 * @returns its address, null if the setting is unset.
 */
async function listenForProbes(
  { ADMIN_LISTEN, ADMIN_TOKEN, KEEP_ALIVE_SECONDS }: Settings,
  { readiness, metrics }: { readiness: Readiness; metrics: Metrics | null },
  life: Lifecycle,
  log: Log,
): Promise<string | null> {
  const address = ADMIN_LISTEN === undefined ? null : parseListenAddress(ADMIN_LISTEN);
  if (address === null || metrics === null) return null;
  const admin = createAdminServer(readiness, metricsRoute(metrics, ADMIN_TOKEN), {
    log: log.child({ listener: 'admin' }),
    keepAliveSeconds: KEEP_ALIVE_SECONDS,
  });
  const { url } = await admin.listen(address);
  life.started('admin listener', () => admin.close());
  log.info({ address: url }, 'the admin listener answers /live, /ready and /metrics');
  return url;
}
