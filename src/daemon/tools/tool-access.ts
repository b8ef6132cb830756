import type { SignOutMarks } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Clock } from '../time/clock.ts';
import { NO_OBSERVER, type Observer } from '../trace/observer.ts';
import type { CredentialSources } from './choose-credential.ts';
import { createDownstream, type Downstream } from './downstream/client.ts';
import { createDefaultToken, type DefaultToken } from './downstream/default-token.ts';
import { createTokenExchange, type TokenExchange } from './downstream/token-exchange.ts';
import type { SourceTarget } from './tool.ts';

/**
 * The services that send the calls of tools with their credentials. They are created once and shared by all sources.
 */
export interface ToolAccess extends CredentialSources {
  /** Null without `API_BASE_URL`. */
  readonly defaultToken: DefaultToken | null;
  readonly exchange: TokenExchange;
  readonly observer: Pick<Observer, 'downstreamEnded'>;
  /** The client for a source's address. @param name the name of the source. */
  getDownstream(name: string, target: SourceTarget): Downstream;
}

type AccessSettings = Pick<
  Settings,
  | 'API_BASE_URL'
  | 'API_EMAIL'
  | 'API_PASSWORD'
  | 'API_TIMEOUT_SECONDS'
  | 'JWT_VERIFY_EXP'
  | 'JWT_CLOCK_SKEW_SECONDS'
>;

interface AccessParts {
  seal: Seal;
  marks: SignOutMarks;
  clock: Clock;
  log: Log;
  observer?: Pick<Observer, 'downstreamEnded'>;
}

/** The source of requests to the business API that are made for no source of the configuration file. */
export const API = 'api';

export function createToolAccess(
  settings: AccessSettings,
  { seal, marks, clock, log, observer = NO_OBSERVER }: AccessParts,
): ToolAccess {
  const timeoutMs = settings.API_TIMEOUT_SECONDS * 1000;
  const clients = new WeakMap<object, Downstream>();
  const createClient = (baseUrl: string, name: string) => {
    return createDownstream({
      baseUrl,
      timeoutMs,
      ...(baseUrl === settings.API_BASE_URL ? {} : { system: `The system \`${name}\`` }),
      ended: (status, seconds) => observer.downstreamEnded(name, status, seconds),
    });
  };
  const { API_BASE_URL, API_EMAIL: email, API_PASSWORD: password } = settings;
  const defaultToken =
    API_BASE_URL === undefined
      ? null
      : createDefaultToken({ downstream: createClient(API_BASE_URL, API), email, password, clock });
  return {
    settings,
    seal,
    marks,
    clock,
    log,
    observer,
    defaultToken,
    exchange: createTokenExchange({ clock, timeoutMs, observer }),
    getDownstream(name, target) {
      const client = clients.get(target) ?? createClient(target.base_url, name);
      clients.set(target, client);
      return client;
    },
  };
}
