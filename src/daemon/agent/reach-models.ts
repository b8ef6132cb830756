import { connect } from 'node:net';
import type { Log } from '../process/log.ts';
import type { Settings } from '../settings/settings.ts';
import { modelServers } from './model-servers.ts';

/** How long a server may take to accept a connection, ms. */
const CONNECT_MS = 5_000;

/**
 * Warns if a model server accepts no connection. Otherwise the operator would notice only when the first message has
 * failed, after all retries. Sends nothing, since a request may cost money. The start does not wait for the result.
 * @returns a function that ends the check
 */
export function reachModels(settings: Settings, log: Log): () => void {
  const sockets = modelServers(settings).map(({ base_url, names }) => {
    const { hostname, protocol, port, host } = new URL(base_url);
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
    });
    const warn = (reason: string) =>
      log.warn(
        { setting: names.base_url, host, reason },
        'no connection to the model server; `agentd doctor` checks it',
      );
    socket.setTimeout(CONNECT_MS, () => {
      warn('timeout');
      socket.destroy();
    });
    socket.on('connect', () => socket.destroy());
    socket.on('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => warn(code));
    return socket.unref();
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
