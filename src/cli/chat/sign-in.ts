import { printable } from '../../daemon/admin/texts.ts';

/** What a token says about its person. Only the daemon knows whether the token is valid. */
export interface ClaimedPerson {
  name: string | null;
  email: string;
  /** Equal for two tokens of the same person. */
  key: string;
}

/**
 * Reads what a token says, and warns about a token that is not usable and about an unencrypted connection. The daemon
 * still answers, but treats a person without a usable token as not signed in.
 * @returns null if the token is not usable
 */
export async function readClaims(
  token: string,
  url: URL,
  note: (text: string) => void,
): Promise<ClaimedPerson | null> {
  const { claimedExpiry, decodeToken, isSecureAddress, isWellFormed } = await import(
    '../../daemon/admin/tokens.ts'
  );
  const decoded = decodeToken(token);
  const expiry = claimedExpiry(decoded);
  const isExpired = expiry !== null && expiry <= Date.now();
  const isToken = isWellFormed(decoded);
  if (!isToken) note('warning: this is not a token, so it signs nobody in');
  else if (isExpired)
    note('warning: the token has expired, so it signs nobody in; check it with `agentd token verify`');
  if (!isSecureAddress(url.href))
    note(`warning: the token is sent to ${url.hostname} unencrypted; use https:// if the server has it`);
  const { claims } = decoded;
  if (!isToken || isExpired || claims === null) return null;
  const key = JSON.stringify([claims.iss, claims.tenant_id, claims.sub]);
  return { name: claims.name ?? null, email: claims.email, key };
}

export function personInWords({ name, email }: ClaimedPerson): string {
  return printable(name === null ? email : `${name} (${email})`);
}
