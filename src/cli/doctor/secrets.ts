import { weakSecret } from '../../daemon/configuration/token-settings.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import type { Finding } from './finding.ts';

const MAKE = '`openssl rand -base64 32` makes one';

/** Is the secret that signs tokens as strong as it should be? */
export function checkSecrets({ JWT_ALGORITHM, JWT_SECRET_KEY }: Settings): Finding {
  const check = 'secrets';
  if (JWT_ALGORITHM !== 'HS256')
    return { check, outcome: 'ok', detail: 'tokens are checked with a public key' };
  const weak = JWT_SECRET_KEY ? weakSecret(JWT_SECRET_KEY) : null;
  if (weak === null) return { check, outcome: 'ok', detail: 'the secret of HS256 is long enough' };
  return {
    check,
    outcome: 'warning',
    detail: weak,
    advice: `Whoever guesses it signs tokens of anybody: take a longer one, here and on the site; ${MAKE}.`,
  };
}
