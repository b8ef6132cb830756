import type { Settings } from '../../daemon/settings/settings.ts';
import { weakSecret } from '../../daemon/settings/token-settings.ts';
import type { Finding } from './finding.ts';

const MAKE = '`openssl rand -base64 32` makes one';

/** Are the secrets of the daemon as strong as they should be, and are stored tokens sealed? */
export function checkSecrets(
  { JWT_ALGORITHM, JWT_SECRET_KEY, TOKEN_ENCRYPTION_KEY }: Settings,
  environment: string,
): Finding[] {
  const findings: Finding[] = [];
  const weak = JWT_ALGORITHM === 'HS256' && JWT_SECRET_KEY ? weakSecret(JWT_SECRET_KEY) : null;
  if (weak !== null) {
    findings.push({
      check: 'secrets',
      outcome: 'warning',
      detail: weak,
      advice: `Whoever guesses it signs tokens of anybody: take a longer one, here and on the site; ${MAKE}.`,
    });
  }
  if (TOKEN_ENCRYPTION_KEY === undefined && environment === 'production') {
    findings.push({
      check: 'secrets',
      outcome: 'warning',
      detail: `TOKEN_ENCRYPTION_KEY is not set under NODE_ENV=${environment}: the tokens of people are stored as they are`,
      advice: `Set it, and keep it; ${MAKE}.`,
    });
  }
  if (findings.length > 0) return findings;
  const sealed =
    TOKEN_ENCRYPTION_KEY === undefined ? 'stored tokens are not sealed' : 'stored tokens are sealed';
  const key =
    JWT_ALGORITHM === 'HS256' ? 'the secret of HS256 is long enough' : 'tokens are checked with a public key';
  return [{ check: 'secrets', outcome: 'ok', detail: `${key}; ${sealed}` }];
}
