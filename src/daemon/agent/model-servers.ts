import { connect } from 'node:net';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { runtimeName } from './load.ts';

/** The value of AGENT_FALLBACK_MODEL that means the builtin runtime instead of a model. */
export const BUILTIN = 'builtin';

export type ModelSettings = Pick<
  Settings,
  | 'AGENT_MODEL'
  | 'AGENT_BASE_URL'
  | 'AGENT_API_KEY'
  | 'AGENT_FALLBACK_MODEL'
  | 'AGENT_FALLBACK_BASE_URL'
  | 'AGENT_FALLBACK_API_KEY'
  | 'AGENT_PROVIDER_OPTIONS'
  | 'AGENT_PROVIDER_HEADERS'
>;

/** A model as the settings name it. */
export interface ModelChoice {
  model: string | undefined;
  base_url: string | undefined;
  key: Secret | undefined;
  /** The names of the settings that name the model and its server, for errors. */
  names: { model: string; base_url: string; key: string };
  /** Whether `base_url` is the address of the first model's server, because the model has no address of its own. */
  inherits_base_url: boolean;
  /** Whether it is the server or the provider of the first model: another one must not get what is for that one. */
  is_same_server: boolean;
}

/** A provider and its model: `anthropic:…`, or a package with its scope and a model. */
const PROVIDER_MODEL = /^([a-z][a-z0-9-]*|@[a-z0-9._-]+\/[a-z0-9._-]+):(.+)$/;

/**
 * The provider that the name of a model names, and what it calls the model. Null if the name names none. With a colon, it
 * may nevertheless be a model of the server at AGENT_BASE_URL (`llama3:8b`).
 */
export function splitModelName(name: string | undefined): { provider: string; model: string } | null {
  const [, provider, model] = PROVIDER_MODEL.exec(name ?? '') ?? [];
  return provider === undefined || model === undefined ? null : { provider, model };
}

/** Whether two names of models name the same provider, or both name none. */
export function nameSameProvider(one: string | undefined, other: string | undefined): boolean {
  return splitModelName(one)?.provider === splitModelName(other)?.provider;
}

/** The settings of a model of another provider: what is for the first one must not be sent to it. */
export const NOTHING_OF_A_PROVIDER = {
  AGENT_API_KEY: undefined,
  AGENT_PROVIDER_OPTIONS: undefined,
  AGENT_PROVIDER_HEADERS: undefined,
};

/** The model and the fallback model. The fallback is null if there is none, or if it is `builtin`. */
export function chooseModels(settings: ModelSettings): { first: ModelChoice; fallback: ModelChoice | null } {
  const first = {
    model: settings.AGENT_MODEL,
    base_url: settings.AGENT_BASE_URL,
    key: settings.AGENT_API_KEY,
    names: { model: 'AGENT_MODEL', base_url: 'AGENT_BASE_URL', key: 'AGENT_API_KEY' },
    inherits_base_url: false,
    is_same_server: true,
  };
  const { AGENT_FALLBACK_MODEL: model, AGENT_FALLBACK_BASE_URL: own } = settings;
  if (model === undefined || model === BUILTIN) return { first, fallback: null };
  const is_same_server =
    own === undefined && (first.base_url !== undefined || nameSameProvider(model, first.model));
  const fallback = {
    model,
    base_url: own ?? first.base_url,
    // An address of its own is the operator's choice, and so is the key that is sent there.
    key: settings.AGENT_FALLBACK_API_KEY ?? (is_same_server || own !== undefined ? first.key : undefined),
    names: {
      model: 'AGENT_FALLBACK_MODEL',
      base_url: 'AGENT_FALLBACK_BASE_URL',
      key: 'AGENT_FALLBACK_API_KEY',
    },
    inherits_base_url: own === undefined,
    is_same_server,
  };
  return { first, fallback };
}

/** A model with the address of its server. */
export type ModelServer = ModelChoice & { model: string; base_url: string };

/** The servers of the runtime `llm`: for the model and for the fallback model, if their addresses are set. */
export function modelServers(settings: Settings): ModelServer[] {
  if (runtimeName(settings) !== 'llm') return [];
  const { first, fallback } = chooseModels(settings);
  return [first, fallback].flatMap((choice) =>
    choice?.base_url === undefined
      ? []
      : [{ ...choice, model: choice.model ?? '', base_url: choice.base_url }],
  );
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
