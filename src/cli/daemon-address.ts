import { parseListenAddress } from '../daemon/admin/setting-values.ts';
import type { SettingsLocation } from '../daemon/admin/settings.ts';
import { usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';
import { coreSettings } from './core-settings.ts';

export const URL_OPTION = {
  flags: '--url <url>',
  sentence: 'address of the daemon, instead of HOST and PORT',
} as const;

/**
 * The address of the running daemon: `--url`, or HOST and PORT of the settings if there is no `--url`.
 * @throws CliError (2) if `--url` is not an address, or if the settings give no address
 */
export async function daemonAddress(options: OptionValues, location = configLocation(options)): Promise<URL> {
  return typeof options.url === 'string' ? parseUrl(options.url) : configuredUrl(options, location);
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw usageError(`--url takes an address such as http://127.0.0.1:8080, not '${text}'`);
}

async function configuredUrl(options: OptionValues, location: SettingsLocation): Promise<URL> {
  const { HOST, PORT } = await coreSettings(options, 'address', location);
  if (PORT === 0) {
    throw usageError(
      'PORT=0 lets the daemon use any free port',
      'Use --url with the address that the daemon printed.',
    );
  }
  return new URL(`http://${reachable(HOST)}:${PORT}/`);
}

/** The address of the daemon's admin listener. Null if there is none, or if `--url` names another daemon. */
export async function adminAddress(options: OptionValues): Promise<URL | null> {
  if (typeof options.url === 'string') return null;
  const { ADMIN_LISTEN } = await coreSettings(options, 'address');
  const address = ADMIN_LISTEN === undefined ? null : parseListenAddress(ADMIN_LISTEN);
  if (address === null || address.port === 0) return null;
  return new URL(`http://${reachable(address.host ?? '0.0.0.0')}:${address.port}/`);
}

/** Uses the loopback address of a daemon that listens on all addresses. IPv6 addresses need brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
