import type { ConfigureOptions } from '../daemon/configuration/configure.ts';
import { coreSettings } from './core-settings.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { placeOf } from './settings-place.ts';

export const URL_OPTION = {
  flags: '--url <url>',
  sentence: 'address of the daemon, instead of HOST and PORT',
} as const;

/**
 * Where the running daemon is: `--url`, else HOST and PORT of the settings.
 * @throws CliError (2) for what is no address.
 */
export async function daemonAddress(
  options: Readonly<Record<string, unknown>>,
  place = placeOf(options),
): Promise<URL> {
  return typeof options.url === 'string' ? parseUrl(options.url) : configuredUrl(options, place);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CliError(EXIT.usage, `--url takes an address such as http://127.0.0.1:8080, not '${text}'`);
}

async function configuredUrl(
  options: Readonly<Record<string, unknown>>,
  place: ConfigureOptions,
): Promise<URL> {
  const { HOST, PORT } = await coreSettings(options, 'address', place);
  if (PORT === 0) {
    throw new CliError(
      EXIT.usage,
      'PORT=0 lets the daemon take any port',
      'Name the address that it printed with --url.',
    );
  }
  return new URL(`http://${reachable(HOST)}:${PORT}/`);
}

/** A daemon that listens on every address is asked at the loopback one; IPv6 addresses go in brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
