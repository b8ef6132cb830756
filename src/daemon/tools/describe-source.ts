import { isSecureAddress } from '../settings/addresses.ts';
import { Secret } from '../settings/secret.ts';
import { BEARER, type CredentialForm } from './downstream/credential-form.ts';
import type { McpEntry, OpenApiEntry, SourceEntry } from './source-entry.ts';
import type { CredentialPolicy, SourceTarget, ToolSourceInfo } from './tool.ts';

/**
 * What the daemon knows about a source: where its calls go, and which credentials may go there. The record is made only
 * from the entry in the configuration file, never by the source, and it is frozen.
 *
 * @param api_base_url `API_BASE_URL`.
 */
export function describeSource(entry: SourceEntry, api_base_url: string | undefined): ToolSourceInfo {
  if (entry.kind === 'module') {
    const target = apiTarget(api_base_url, entry.credential);
    return ownSource(entry.module, 'module', target);
  }
  const target = toTarget(entry, api_base_url);
  return freeze({
    name: entry.name,
    kind: entry.kind,
    origin: toOrigin(target),
    target,
    foreign: target?.is_api !== true,
    secrets: freeze([...Object.entries(target?.headers ?? {}).flatMap(secretsOf), ...(entry.secrets ?? [])]),
  });
}

/** A fixed header and, of an `Authorization`, its credential without the scheme. */
function secretsOf([name, value]: [name: string, value: Secret]): Secret[] {
  const isCredential = name.toLowerCase() === 'authorization';
  const [, credential] = isCredential ? (/^\S+ +(.+)$/.exec(value.reveal()) ?? []) : [];
  return credential === undefined ? [value] : [value, new Secret(credential)];
}

/** The source of the tools that are part of the daemon. */
export function builtInSource(api_base_url: string | undefined): ToolSourceInfo {
  return ownSource('built-in', 'built-in', apiTarget(api_base_url));
}

function ownSource(name: string, kind: 'built-in' | 'module', target: SourceTarget | null): ToolSourceInfo {
  return freeze({ name, kind, origin: toOrigin(target), target, foreign: false, secrets: freeze([]) });
}

/** The business API itself. */
function apiTarget(
  api_base_url: string | undefined,
  credential: CredentialForm = BEARER,
): SourceTarget | null {
  if (api_base_url === undefined) return null;
  return freeze({
    base_url: api_base_url,
    is_api: true,
    may_see_user_token: true,
    credential: freeze({ ...credential }),
    headers: freeze({}),
    exchange: null,
  });
}

function toTarget(entry: OpenApiEntry | McpEntry, api_base_url: string | undefined): SourceTarget | null {
  const base_url = readBaseUrl(entry);
  if (base_url === null) return null;
  const is_api = api_base_url !== undefined && new URL(base_url).origin === new URL(api_base_url).origin;
  const { exchange } = entry;
  return freeze({
    base_url,
    is_api,
    may_see_user_token:
      is_api || (isSecureAddress(base_url) && [entry.credentials, ...listPolicies(entry)].some(namesUser)),
    credential: freeze({ ...(entry.credential ?? BEARER) }),
    headers: freeze(
      Object.fromEntries(
        Object.entries(entry.headers)
          .filter(([name]) => !isForListing(name, entry))
          .map(([name, value]) => [name, new Secret(value)]),
      ),
    ),
    exchange:
      exchange === undefined
        ? null
        : freeze({ ...exchange, client_secret: new Secret(exchange.client_secret) }),
  });
}

/** Whether a fixed header is a credential with which only the tools are listed. */
function isForListing(name: string, entry: OpenApiEntry | McpEntry): boolean {
  return (
    entry.kind === 'mcp' &&
    entry.list_credentials === 'headers' &&
    ['authorization', 'cookie'].includes(name.toLowerCase())
  );
}

function readBaseUrl(entry: OpenApiEntry | McpEntry): string | null {
  if (entry.kind === 'openapi') return entry.base_url;
  return 'url' in entry.server ? entry.server.url : null;
}

/** The policy of each tool of an entry; undefined if neither the tool nor the entry has one. */
function listPolicies(entry: OpenApiEntry | McpEntry): (CredentialPolicy | undefined)[] {
  const tools = Object.values(entry.kind === 'openapi' ? entry.operations : entry.tools);
  return tools.map(({ credentials }) => credentials ?? entry.credentials);
}

function namesUser(policy: CredentialPolicy | undefined): boolean {
  return policy === 'user' || policy === 'user-or-default';
}

function toOrigin(target: SourceTarget | null): string | null {
  return target === null ? null : new URL(target.base_url).origin;
}

function freeze<T extends object>(value: T): Readonly<T> {
  return Object.freeze(value);
}

/** Which token of a person a source of tools can see. */
export interface TokenReach {
  /** `name` of the entry, or the path of a module. */
  source: string;
  kind: SourceEntry['kind'];
  /** Null if the source has no address. */
  origin: string | null;
  /** `own`: the person's own token. `exchanged`: only a token that is issued in exchange for the person's own token. */
  token: 'own' | 'exchanged' | 'none';
  /** Where its requests carry a token of any kind; null if the source has no address. */
  credential: CredentialForm | null;
}

/** The token that a source may see, according to its entry; for `agentd config check`. */
export function tokenReach(entry: SourceEntry, api_base_url: string | undefined): TokenReach {
  const info = describeSource(entry, api_base_url);
  const { name: source, origin, target } = info;
  const { kind } = entry;
  const policies = entry.kind === 'module' ? [undefined] : listPolicies(entry);
  // Each tool of a module chooses its credentials, so the module may see the person's token.
  const isOwn = (policy: CredentialPolicy | undefined) =>
    policy === undefined ? target?.is_api === true && entry.kind !== 'mcp' : namesUser(policy);
  const token =
    target?.may_see_user_token && policies.some(isOwn)
      ? 'own'
      : target?.exchange && policies.includes('exchange')
        ? 'exchanged'
        : 'none';
  return { source, kind, origin, token, credential: target?.credential ?? null };
}
