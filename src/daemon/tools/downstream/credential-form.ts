import type { Secret } from '../../settings/secret.ts';

/** Where a request carries its credential. The token is never part of an address, which servers and proxies log. */
export type CredentialForm =
  /** `scheme`: the word before the token; null if there is none. */
  { readonly header: string; readonly scheme: string | null } | { readonly cookie: string };

/** The form of RFC 6750, unless an entry says another one. */
export const BEARER: CredentialForm = Object.freeze({ header: 'Authorization', scheme: 'Bearer' });

/** What a cookie can contain (RFC 6265, section 4.1.1). */
const COOKIE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;

/** The name of the header that carries the credential, in lower case. */
export function credentialHeader(form: CredentialForm): string {
  return 'cookie' in form ? 'cookie' : form.header.toLowerCase();
}

/** The value of the header that carries this token; null if a cookie cannot contain it. */
export function credentialValue(form: CredentialForm, token: Secret): string | null {
  const text = token.reveal();
  if ('cookie' in form) return COOKIE_VALUE.test(text) ? `${form.cookie}=${text}` : null;
  return form.scheme === null ? text : `${form.scheme} ${text}`;
}

/** Whether it is the usual form. */
export function isBearer(form: CredentialForm): boolean {
  return credentialHeader(form) === 'authorization' && 'scheme' in form && form.scheme === 'Bearer';
}

/** Where the credential is, for people: `in the header X-User-Token`. */
export function credentialPlace(form: CredentialForm): string {
  if ('cookie' in form) return `in the cookie ${form.cookie}`;
  return `in the header ${form.header}${form.scheme === null ? '' : `, after \`${form.scheme}\``}`;
}
