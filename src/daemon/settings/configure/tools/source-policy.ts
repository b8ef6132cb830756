import { BEARER, type CredentialForm, credentialHeader } from '../../../tools/downstream/credential-form.ts';
import {
  isAllowedFixedHeader,
  isAllowedHeader,
  isAsciiHeaderValue,
} from '../../../tools/downstream/headers.ts';
import type { ExchangeEntry, SourcePolicy, ToolEntry } from '../../../tools/source-entry.ts';
import type { CredentialPolicy } from '../../../tools/tool.ts';
import { isSecureAddress } from '../../addresses.ts';
import type { Secret } from '../../secret.ts';
import { CREDENTIAL, CREDENTIALS, EXCHANGE, SECRET_NAME } from '../../tools-schema.ts';
import { findUrlProblem, rightUrl } from '../../value.ts';
import { type ConfigNode, withoutAbsent } from '../config-node.ts';
import type { SourceSecrets } from './source-secrets.ts';

const RIGHT_NAME = 'a short name, the prefix of the names of its tools';
const RIGHT_HEADERS = `names and values, such as { X-Api-Key: "\${SHOP_API_KEY}" }`;
export const RIGHT_EXCHANGE =
  '{ url, client_id, client_secret, audience } of the authorization server (RFC 8693)';
const RIGHT_SECRETS = 'names of settings in capitals, such as [SHOP_API_KEY]';

export function readName(node: ConfigNode): string | undefined {
  return node.child('name').text(RIGHT_NAME);
}

/**
 * Reads the keys `secrets`, `headers`, `exchange`, `credentials` and `credential` of an entry.
 * @param tools the tools of the entry, whose credentials are checked as well
 */
export function readSourcePolicy(
  node: ConfigNode,
  destination: Destination,
  tools: ToolList,
  { values, byDefault }: { values: SourceSecrets; byDefault: 'own-origin' | 'none' },
): SourcePolicy {
  const secrets = readEntrySecrets(node, values);
  const headers = readHeaders(node, secrets);
  const exchange = node.optional('exchange', (child) => readExchange(child, secrets));
  const credential = node.optional('credential', readCredential);
  const form = credential ?? BEARER;
  const credentials = readCredentials(node, destination, tools, { headers, byDefault, form });
  return withoutAbsent<SourcePolicy>({
    headers,
    credentials,
    credential,
    exchange,
    secrets: listedSecrets(secrets),
  });
}

/** Reads an http or https address without credentials or a fragment. */
export function readUrl(node: ConfigNode, parts: { query: boolean }): string | undefined {
  const right = rightUrl(parts);
  const text = node.text(right);
  if (text === undefined) return undefined;
  const problem = findUrlProblem(text, parts);
  return problem === null ? text : node.refuse(problem, right);
}

/** The `secrets` of an entry: the settings that its headers, its exchange and its environment may refer to. */
export function readEntrySecrets(node: ConfigNode, values: SourceSecrets): EntrySecrets {
  const list = node.child('secrets');
  if (list.isAbsent) return { listed: [], values };
  const listed = list.items(RIGHT_SECRETS).flatMap((item) => {
    const name = item.text(RIGHT_SECRETS);
    if (name === undefined) return [];
    if (!SECRET_NAME.test(name)) return item.refuse('is not the name of a setting', RIGHT_SECRETS) ?? [];
    if (!values.has(name))
      return item.refuse(`names ${name}, a setting of agentd itself`, 'a setting of your own') ?? [];
    return [name];
  });
  return { listed, values };
}

/** The values of the secrets that an entry lists; undefined if it lists none. */
export function listedSecrets({ listed, values }: EntrySecrets): Secret[] | undefined {
  const secrets = listed.flatMap((name) => values.get(name) ?? []);
  return secrets.length === 0 ? undefined : secrets;
}

/** The fixed headers of an entry, with its secrets filled in. */
function readHeaders(node: ConfigNode, secrets: EntrySecrets): Record<string, string> {
  const headers = node.child('headers');
  if (headers.isAbsent) return {};
  const seen = new Set<string>();
  const filled = headers.members(RIGHT_HEADERS).flatMap(([name, value]) => {
    const text = fillSecrets(value, `a text; a secret as \${SETTING}`, secrets);
    const lower = name.toLowerCase();
    if (!isAllowedFixedHeader(name)) value.refuse('is not a header that an entry may set', RIGHT_HEADERS);
    else if (seen.has(lower)) value.refuse('occurs twice in the list', 'each header once, in one spelling');
    else if (text !== undefined && !isAsciiHeaderValue(text))
      value.refuse('has a value that no header can contain', 'one line of printable ASCII characters');
    seen.add(lower);
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(filled);
}

function readExchange(exchange: ConfigNode, secrets: EntrySecrets): ExchangeEntry | undefined {
  if (!exchange.isObject(RIGHT_EXCHANGE)) return undefined;
  exchange.onlyKeys(EXCHANGE.required);
  const url = readUrl(exchange.child('url'), { query: true });
  if (url !== undefined && !isSecureAddress(url)) {
    exchange
      .child('url')
      .refuse("is not https: the person's token could be read on the way", 'an https or loopback address');
  }
  const client_id = exchange.child('client_id').text('the id of agentd at the authorization server');
  const client_secret = fillSecrets(exchange.child('client_secret'), `a secret as \${SETTING}`, secrets);
  const audience = exchange.child('audience').text('the audience of the new token');
  if (url === undefined || client_id === undefined || client_secret === undefined || audience === undefined)
    return undefined;
  return { url, client_id, client_secret, audience };
}

/** The tools that an entry lists, as they were read. */
interface ToolList {
  node: ConfigNode;
  entries: Readonly<Record<string, ToolEntry>>;
}

/** The destination of the requests of a source. */
interface Destination {
  /** Undefined if it is missing or wrong, which is reported. */
  url: string | undefined;
  /** `API_BASE_URL`. Null if it is not set; undefined if it is wrong, which is reported. */
  api: string | null | undefined;
}

/** Whether the source has the same origin as `API_BASE_URL`; null if this is not known. */
function isOwnOrigin({ url, api }: Destination): boolean | null {
  if (url === undefined || api === undefined) return null;
  return api !== null && URL.parse(api)?.origin === URL.parse(url)?.origin;
}

/**
 * Reads `credentials` of an entry. Checks these credentials and the credentials of its tools: whether they may be sent
 * to this origin, and whether another header conflicts with them (agentd-agent(7), "Credentials").
 */
function readCredentials(
  node: ConfigNode,
  destination: Destination,
  tools: ToolList,
  {
    headers,
    byDefault,
    form,
  }: {
    headers: Readonly<Record<string, string>>;
    byDefault: 'own-origin' | 'none';
    form: CredentialForm;
  },
): CredentialPolicy | undefined {
  const child = node.child('credentials');
  const hasExchange = !node.child('exchange').isAbsent;
  const written = child.isAbsent ? undefined : child.choice(CREDENTIALS);
  // If an entry has `exchange` but no `credentials`, its `credentials` are `exchange`.
  const credentials = child.isAbsent && hasExchange ? 'exchange' : written;
  const named = Object.entries(tools.entries).flatMap(([key, entry]) =>
    entry.credentials === undefined
      ? []
      : [{ at: tools.node.child(key).child('credentials'), policy: entry.credentials }],
  );
  if (written !== undefined) named.unshift({ at: child, policy: written });
  for (const { at, policy } of named) {
    checkDestination(at, policy, destination);
    if (policy === 'exchange' && !hasExchange)
      at.refuse('needs the key `exchange` of the entry', RIGHT_EXCHANGE);
  }
  const { value: listsWith } = node.child('list_credentials');
  const isUsed =
    [credentials, listsWith].includes('exchange') || named.some(({ policy }) => policy === 'exchange');
  if (hasExchange && !isUsed) {
    node
      .child('exchange')
      .refuse('has no effect: no tool of the entry has these credentials', 'credentials: exchange');
  }
  const implied = byDefault === 'own-origin' && isOwnOrigin(destination) !== false && child.isAbsent;
  const carries =
    (credentials ?? 'none') !== 'none' || implied || named.some(({ policy }) => policy !== 'none');
  // With this listing credential, the header is sent only when the tools are listed.
  const sent = carries && listsWith !== 'headers' ? headers : {};
  refuseInCarrier(node, tools, { carrier: credentialHeader(form), headers: sent });
  if (!node.child('credential').isAbsent && !carries)
    node
      .child('credential')
      .refuse('has no effect: no tool of the entry has credentials', 'credentials: user, or another policy');
  return credentials;
}

/** Refuses other values in the header that carries the credentials. */
function refuseInCarrier(
  node: ConfigNode,
  tools: ToolList,
  { carrier, headers }: { carrier: string; headers: Readonly<Record<string, string>> },
): void {
  const problem = 'is the header in which the credentials of this source are sent';
  const fixed = Object.keys(headers).find((name) => name.toLowerCase() === carrier);
  if (fixed !== undefined)
    node
      .child('headers')
      .child(fixed)
      .refuse(
        problem,
        'credentials: none, an entry without this header, or list_credentials: headers for an MCP server',
      );
  for (const [key, { idempotency_header }] of Object.entries(tools.entries))
    if (idempotency_header?.toLowerCase() === carrier)
      tools.node.child(key).child('idempotency_header').refuse(problem, 'another header');
}

function checkDestination(at: ConfigNode, policy: CredentialPolicy, destination: Destination): void {
  const { url, api } = destination;
  if (url === undefined || isOwnOrigin(destination) !== false) return;
  if (policy === 'user-or-default' || policy === 'default') {
    const reason = api === null ? 'API_BASE_URL is not set' : 'this source has another origin';
    at.refuseValue(
      `sends the default credentials, which are only for the origin of API_BASE_URL, and ${reason}`,
      'none, user or exchange',
    );
  } else if (policy === 'user' && !isSecureAddress(url)) {
    at.refuseValue(
      "sends the person's token to an address that is not https, where it can be read on the way",
      'an https or loopback address for this source, or credentials: none',
    );
  }
}

const RIGHT_CREDENTIAL =
  '{ header: X-User-Token }, { header: Authorization, scheme: Token } or { cookie: session }';
const RIGHT_HEADER = 'the name of a header such as X-User-Token';
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9_-]{0,30}$/;
/** Headers that the daemon sets itself, or that describe the message. */
const OF_MESSAGE =
  /^(?:accept|content|trace|user-agent|set-cookie|if-|range|origin|referer|date|cache-|pragma)/;

/** Reads `credential` of an entry: where its requests carry the token. Undefined if it is wrong. */
export function readCredential(node: ConfigNode): CredentialForm | undefined {
  if (node.members(RIGHT_CREDENTIAL, 'is empty').length === 0) return undefined;
  const query = node.child('query');
  if (query.value !== undefined)
    return query.refuse(
      'would put the token into addresses, which servers and proxies log',
      RIGHT_CREDENTIAL,
    );
  node.onlyKeys(Object.keys(CREDENTIAL.properties));
  const [header, scheme, cookie] = [node.child('header'), node.child('scheme'), node.child('cookie')];
  if (header.isAbsent === cookie.isAbsent)
    return node.refuse(
      header.isAbsent ? 'names neither a header nor a cookie' : 'names a header and a cookie',
      RIGHT_CREDENTIAL,
    );
  if (!cookie.isAbsent) {
    if (!scheme.isAbsent) scheme.refuse('belongs to a header, not to a cookie', RIGHT_CREDENTIAL);
    return readCookie(cookie);
  }
  return readHeader(header, scheme);
}

function readCookie(node: ConfigNode): CredentialForm | undefined {
  const right = 'the name of a cookie such as session';
  const cookie = node.textThat((name) => COOKIE_NAME.test(name), 'is not the name of a cookie', right);
  return cookie === undefined ? undefined : { cookie };
}

function readHeader(node: ConfigNode, scheme_node: ConfigNode): CredentialForm | undefined {
  const header = node.text(RIGHT_HEADER);
  const scheme = scheme_node.isAbsent ? null : scheme_node.text('a word such as Token');
  if (scheme != null && !SCHEME.test(scheme))
    scheme_node.refuseValue('is not a scheme', 'a word such as Token, without a blank');
  if (header === undefined || scheme === undefined) return undefined;
  const lower = header.toLowerCase();
  if (lower === 'cookie') return node.refuseValue('needs the name of the cookie', '{ cookie: session }');
  if (lower === 'authorization')
    return { header, scheme: scheme ?? ('scheme' in BEARER ? BEARER.scheme : null) };
  if (!isAllowedHeader(header) || OF_MESSAGE.test(lower))
    return node.refuseValue('is not a header that can carry a credential', RIGHT_HEADER);
  return { header, scheme };
}

const SECRET_REFERENCE = /\$\{([^}]*)\}/g;

/** The secrets that one entry may use. */
export interface EntrySecrets {
  /** The names under `secrets` of the entry. */
  listed: readonly string[];
  values: SourceSecrets;
}

/**
 * The text of a node with each `${SETTING}` replaced by the secret of that name. Reports names that the entry does not
 * list. Problems never show the text, which may contain a secret.
 */
export function fillSecrets(
  node: ConfigNode,
  right: string,
  { listed, values }: EntrySecrets,
): string | undefined {
  const text = node.text(right);
  if (text === undefined) return undefined;
  const names = [...text.matchAll(SECRET_REFERENCE)].map(([, name = '']) => name);
  const unlisted = names.filter((name) => !listed.includes(name));
  for (const name of new Set(unlisted)) {
    node.refuse(`refers to \${${name}}, which the entry does not list`, `secrets: [${name}] in the entry`);
  }
  if (unlisted.length > 0) return undefined;
  if (text.replace(SECRET_REFERENCE, '').includes(`\${`))
    return node.refuse(`has a \`\${\` without a \`}\``, right);
  // A missing value is reported once, under the name of the secret.
  if (names.some((name) => !values.get(name))) return undefined;
  return text.replace(SECRET_REFERENCE, (_reference, name: string) => values.get(name)?.reveal() ?? '');
}
