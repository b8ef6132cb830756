import { BEARER, type CredentialForm } from '../../../tools/downstream/credential-form.ts';
import { isAllowedHeader } from '../../../tools/downstream/headers.ts';
import type { ConfigNode } from '../config-node.ts';

const RIGHT = '{ header: X-User-Token }, { header: Authorization, scheme: Token } or { cookie: session }';
const RIGHT_HEADER = 'the name of a header such as X-User-Token';
const COOKIE_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9_-]{0,30}$/;
/** Headers that the daemon sets itself, or that describe the message. */
const OF_MESSAGE =
  /^(?:accept|content|trace|user-agent|set-cookie|if-|range|origin|referer|date|cache-|pragma)/;

/** Reads `credential` of an entry: where its requests carry the token. Undefined if it is absent or wrong. */
export function readCredential(node: ConfigNode): CredentialForm | undefined {
  if (node.isAbsent) return undefined;
  if (node.members(RIGHT).length === 0)
    return typeof node.value === 'object' ? node.refuse('is empty', RIGHT) : undefined;
  const query = node.child('query');
  if (query.value !== undefined)
    return query.refuse('would put the token into addresses, which servers and proxies log', RIGHT);
  node.onlyKeys(['header', 'scheme', 'cookie']);
  const [header, scheme, cookie] = [node.child('header'), node.child('scheme'), node.child('cookie')];
  if (header.isAbsent === cookie.isAbsent)
    return node.refuse(
      header.isAbsent ? 'names neither a header nor a cookie' : 'names a header and a cookie',
      RIGHT,
    );
  if (!cookie.isAbsent) {
    if (!scheme.isAbsent) scheme.refuse('belongs to a header, not to a cookie', RIGHT);
    return readCookie(cookie);
  }
  return readHeader(header, scheme);
}

function readCookie(node: ConfigNode): CredentialForm | undefined {
  const right = 'the name of a cookie such as session';
  const cookie = node.text(right);
  if (cookie === undefined) return undefined;
  return COOKIE_NAME.test(cookie) ? { cookie } : node.refuseValue('is not the name of a cookie', right);
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
