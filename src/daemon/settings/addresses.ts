/** Where to listen. Without a host: on every address of the machine. */
export interface ListenAddress {
  host: string | undefined;
  port: number;
}

const LISTEN_FORM = /^(?:\[([\dA-Fa-f:.]+)\]|([\w.-]*)):(\d{1,5})$/;
const PORT_MAX = 65_535;

/** Reads `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464` or `:9464`; null if the text has another form. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [match, bracketed, plain, digits] = LISTEN_FORM.exec(text) ?? [];
  const port = Number(digits);
  if (match === undefined || port > PORT_MAX) return null;
  return { host: bracketed ?? (plain || undefined), port };
}

/** Whether only this machine can reach the address. Names other than `localhost` are not resolved. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);
}

/** Whether nobody can read on the way what is sent to the address: it uses https, or is on this machine. */
export function isSecureAddress(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url)));
}

export interface Node {
  host: string;
  port: number;
}

interface Login {
  username?: string;
  password?: string;
}

/** The address of Redis, parsed from REDIS_URL. */
export type RedisAddress =
  | {
      kind: 'single';
      options: Login & { db?: number } & ((Node & { tls?: { servername: string } }) | { path: string });
    }
  | { kind: 'sentinel'; options: Login & { sentinels: Node[]; name: string; db: number } }
  | { kind: 'cluster'; nodes: readonly Node[]; options: Login & { tls?: object } };

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Reads REDIS_URL: `redis://` and `rediss://` (TLS) with user, password and database, `unix:` with the path of a
 * socket, `redis+sentinel://[user:password@]host:port,host:port/<master>[/db]`, and
 * `redis+cluster://host:port,host:port` or `rediss+cluster://` (TLS).
 * @throws Error that says what is wrong, without the value.
 */
export function parseRedisUrl(url: string): RedisAddress {
  const found = /^([a-z+]+):(?:\/\/)?(?:([^@/]*)@)?([^/]*)(\/.*)?$/s.exec(url);
  const [, scheme, credentials = '', authority = '', path = ''] = found ?? [];
  const login = parseLogin(credentials);
  switch (scheme) {
    case 'redis':
    case 'rediss': {
      const [node, ...others] = parseNodes(authority, REDIS_PORT);
      if (others.length > 0)
        throw new Error('it names several hosts, which only redis+sentinel:// and redis+cluster:// allow');
      const tls = scheme === 'rediss' ? { tls: { servername: node.host } } : {};
      return { kind: 'single', options: { ...node, ...login, ...tls, db: parseDatabase(path.slice(1)) } };
    }
    case 'unix':
      if (path === '') throw new Error('the path of the socket is missing');
      return { kind: 'single', options: { path, ...login } };
    case 'redis+sentinel': {
      const [, name = '', db = ''] = path.split('/');
      if (name === '') throw new Error('the name of the master is missing');
      const sentinels = parseNodes(authority, SENTINEL_PORT);
      return {
        kind: 'sentinel',
        options: { sentinels, name: decodeURIComponent(name), ...login, db: parseDatabase(db) },
      };
    }
    case 'redis+cluster':
    case 'rediss+cluster': {
      if (path.length > 1) throw new Error('a Cluster has no databases');
      const tls = scheme === 'rediss+cluster' ? { tls: {} } : {};
      return { kind: 'cluster', nodes: parseNodes(authority, REDIS_PORT), options: { ...login, ...tls } };
    }
    default:
      throw new Error(
        'it does not begin with redis://, rediss://, redis+sentinel://, redis+cluster:// or unix:',
      );
  }
}

function parseLogin(credentials: string): Login {
  if (credentials === '') return {};
  const colon = credentials.indexOf(':');
  const [user, password] =
    colon < 0 ? [credentials, ''] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
  return {
    ...(user !== '' && { username: decodePart(user) }),
    ...(password !== '' && { password: decodePart(password) }),
  };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('its user or password has a % that does not encode a character');
  }
}

function parseNodes(authority: string, defaultPort: number): [Node, ...Node[]] {
  const nodes = authority.split(',').map((node) => {
    const [, host, given] = /^(\[[^\]]+\]|[^:[\]@\s]+)(?::(\d{1,5}))?$/.exec(node) ?? [];
    const port = Number(given ?? defaultPort);
    // The host is not shown, because it may contain a password with an unencoded character.
    if (host === undefined || port < 1 || port > PORT_MAX)
      throw new Error('one of its hosts is not a host and a port');
    return { host: host.replace(/^\[|\]$/g, ''), port };
  });
  return nodes as [Node, ...Node[]];
}

function parseDatabase(text: string): number {
  if (!/^\d{0,5}$/.test(text)) throw new Error('the database is not a number');
  return Number(text);
}
