import type { IncomingHttpHeaders } from 'node:http';

/** Headers that belong to the daemon and to the connection (RFC 9110, section 7.6.1). */
const OF_CONNECTION = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers that carry credentials. An entry may set them, a tool may not. */
const OF_CREDENTIALS = new Set(['authorization', 'cookie']);
/**
 * Headers by which frameworks, proxies and gateways replace the method, the host, the path, the client address or the
 * person of a request. An entry may set them, a tool may not, because a model could choose their value.
 */
const OVERRIDES = new Set([
  'as-user',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'on-behalf-of',
  'remote-addr',
  'remote-user',
  'sudo',
  'true-client-ip',
  'via',
  'x-act-as',
  'x-apigateway-api-userinfo',
  'x-appengine-user-ip',
  'x-arr-clientcert',
  'x-auth-user',
  'x-backend-host',
  'x-client-cert',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-credential-identifier',
  'x-custom-ip-authorization',
  'x-endpoint-api-userinfo',
  'x-host',
  'x-jwt-assertion',
  'x-method-override',
  'x-on-behalf-of',
  'x-path-info',
  'x-proxyuser-ip',
  'x-real-ip',
  'x-sudo',
  'x-url-scheme',
  'x-user-ip',
  'x-userinfo',
  'x-webauth-user',
]);
const OVERRIDE_PREFIXES = [
  'cf-access-',
  'impersonate-',
  'ssl-client-',
  'tailscale-',
  'x-amzn-oidc-',
  'x-anonymous-consumer',
  'x-auth-request-',
  'x-authenticated-',
  'x-authentik-',
  'x-azure-',
  'x-consumer-',
  'x-envoy-',
  'x-forward-',
  'x-forwarded',
  'x-goog-authenticated-',
  'x-goog-iap-',
  'x-http-',
  'x-impersonate',
  'x-ms-client-principal',
  'x-ms-token-',
  'x-original-',
  'x-originating-',
  'x-pomerium-',
  'x-remote-',
  'x-rewrite-',
  'x-ssl-client-',
];
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether a tool may set this header of a request. */
export function isAllowedHeader(name: string): boolean {
  const seen = asServersSee(name);
  return (
    isAllowedFixedHeader(name) &&
    !OF_CREDENTIALS.has(seen) &&
    !OVERRIDES.has(seen) &&
    !OVERRIDE_PREFIXES.some((prefix) => seen.startsWith(prefix))
  );
}

/** Whether an entry may set this header for all requests of its source. */
export function isAllowedFixedHeader(name: string): boolean {
  const seen = asServersSee(name);
  return (
    NAME.test(name) && !OF_CONNECTION.has(seen) && !seen.startsWith('sec-') && !seen.startsWith('proxy-')
  );
}

/** Whether a header can have this name and this value (RFC 9110, sections 5.1 and 5.5). */
export function isHeader(name: string, value: string): boolean {
  return NAME.test(name) && isHeaderValue(value);
}

/** Whether the value is valid in a header (RFC 9110, section 5.5). */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/** Whether the value is valid in a header, and has no bytes whose meaning is unknown (obs-text). */
export function isAsciiHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(value);
}

/** Servers that pass headers as variables (CGI, WSGI, Rack) do not distinguish `X_Real_IP` from `X-Real-IP`. */
function asServersSee(name: string): string {
  return name.toLowerCase().replace(/[^0-9a-z]/g, '-');
}

/** Maximum number of headers of an answer that an agent gets, and maximum length of each, in characters. */
const MAX_HEADERS = 16;
const MAX_CHARACTERS = 1_000;
const SHOWN = /^(?:link|retry-after|(?:x-)?rate-?limit(?:-[a-z0-9-]{1,40})?)$/;

/**
 * The headers of an answer that say where its next page is, and how many requests are left; undefined if none does.
 * @param mask is called before a header is cut, so that no part of a secret is left
 */
export function shownHeaders(
  headers: IncomingHttpHeaders,
  mask: (text: string) => string,
): Readonly<Record<string, string>> | undefined {
  const shown = Object.entries(headers)
    .filter(([name, value]) => SHOWN.test(name) && value !== undefined)
    .slice(0, MAX_HEADERS)
    .map(([name, value]) => [
      name,
      mask(String(value))
        .replace(/[^\x20-\x7e]/g, ' ')
        .slice(0, MAX_CHARACTERS),
    ]);
  return shown.length === 0 ? undefined : (Object.fromEntries(shown) as Record<string, string>);
}

/** Whether a value is printable ASCII without blanks, which is safe in a header. */
export function isHeaderToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}
