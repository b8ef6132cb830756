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
