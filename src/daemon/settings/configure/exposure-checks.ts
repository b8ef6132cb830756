import { isLoopback, parseListenAddress, parseRedisUrl } from '../addresses.ts';
import type { Validation } from '../check.ts';

/** Names of the settings that hold the address of an API. Collectors of spans get no tokens and no texts. */
const API_ADDRESS = /_(?:BASE|API)_URL$/;

/** Shortest ADMIN_TOKEN without a warning, in characters. */
const ADMIN_TOKEN_MIN = 16;

/** Warns about settings that let others on the network read what they should not. */
export function checkExposure(validation: Validation): void {
  checkAdminToken(validation);
  if (!validation.guarded) return;
  for (const { name, value } of validation.addresses()) {
    const url = API_ADDRESS.test(name) ? URL.parse(value) : null;
    if (url?.protocol === 'http:' && !isLoopback(url))
      validation.warn(unencrypted(name, url.hostname, 'https'));
  }
  checkRedisTransport(validation);
}

function checkAdminToken(validation: Validation): void {
  const token = validation.value('ADMIN_TOKEN')?.reveal();
  if (token !== undefined && [...token].length < ADMIN_TOKEN_MIN) {
    validation.warn(
      `ADMIN_TOKEN has fewer than ${ADMIN_TOKEN_MIN} characters and can be guessed: use a random one, for example from \`openssl rand -base64 24\``,
    );
  }
  const text = validation.value('ADMIN_LISTEN');
  const address = text === undefined ? null : parseListenAddress(text);
  if (address === null || token !== undefined || isLoopbackHost(address.host)) return;
  validation.warn(
    `ADMIN_LISTEN (${text}) is not a loopback address, and ADMIN_TOKEN is not set: anybody who reaches it can read /metrics`,
  );
}

function checkRedisTransport(validation: Validation): void {
  const text = validation.value('REDIS_URL')?.reveal();
  if (text === undefined) return;
  const remote = findRemoteHost(text);
  if (remote !== null) validation.warn(unencrypted('REDIS_URL', remote, 'rediss'));
}

/** A host on another machine that Redis is reached at without TLS; null if there is none. */
function findRemoteHost(text: string): string | null {
  const address = (() => {
    try {
      return parseRedisUrl(text);
    } catch {
      // checkStoreSettings reports what is wrong with it.
      return null;
    }
  })();
  if (address === null || ('tls' in address.options && address.options.tls !== undefined)) return null;
  const hosts =
    address.kind === 'cluster'
      ? address.nodes.map(({ host }) => host)
      : address.kind === 'sentinel'
        ? address.options.sentinels.map(({ host }) => host)
        : 'host' in address.options
          ? [address.options.host]
          : [];
  return hosts.find((host) => !isLoopbackHost(host)) ?? null;
}

/** @param host undefined for every address of the machine */
function isLoopbackHost(host: string | undefined): boolean {
  if (host === undefined) return false;
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`);
  return url !== null && isLoopback(url);
}

function unencrypted(name: string, host: string, scheme: string): string {
  return `${name} is reached at ${host} without TLS: anybody who can read the network between them sees tokens and conversations. Use ${scheme}://, or a network that only these hosts can read`;
}
