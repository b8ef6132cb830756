import { connect } from 'node:net';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { runtimeName } from './load.ts';

/** A model server, and the settings that name it. */
export interface ModelServer {
  model: string;
  base_url: string;
  key: Secret | undefined;
  names: { model: string; base_url: string; key: string };
}

/** The servers of the runtime `llm`: for the model and for the fallback model, if their addresses are set. */
export function modelServers(settings: Settings): ModelServer[] {
  const { AGENT_MODEL = '', AGENT_BASE_URL, AGENT_API_KEY } = settings;
  if (runtimeName(settings) !== 'llm') return [];
  const names = { model: 'AGENT_MODEL', base_url: 'AGENT_BASE_URL', key: 'AGENT_API_KEY' };
  const first = { model: AGENT_MODEL, base_url: AGENT_BASE_URL, key: AGENT_API_KEY, names };
  return [first, fallbackServer(settings)].filter((server) => hasAddress(server));
}

type Named = Omit<ModelServer, 'base_url'> & { base_url: string | undefined };

/** Null if there is no fallback model, or it is `builtin`. */
function fallbackServer(settings: Settings): Named | null {
  const { AGENT_FALLBACK_MODEL: model, AGENT_FALLBACK_API_KEY, AGENT_FALLBACK_BASE_URL } = settings;
  if (model === undefined || model === 'builtin') return null;
  const names = {
    model: 'AGENT_FALLBACK_MODEL',
    base_url: 'AGENT_FALLBACK_BASE_URL',
    key: 'AGENT_FALLBACK_API_KEY',
  };
  const base_url = AGENT_FALLBACK_BASE_URL ?? settings.AGENT_BASE_URL;
  return { model, base_url, key: AGENT_FALLBACK_API_KEY ?? settings.AGENT_API_KEY, names };
}

function hasAddress(server: Named | null): server is ModelServer {
  return server !== null && server.base_url !== undefined;
}

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
