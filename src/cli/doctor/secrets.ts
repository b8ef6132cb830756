import { weakSecrets } from '../../daemon/admin/probes.ts';
import type { Settings } from '../../daemon/admin/settings.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning } = findingsOf('secrets');

/** Checks whether the secret that signs tokens is strong enough. */
export function checkSecrets({ JWT_ALGORITHM, JWT_SECRET_KEY }: Settings): Finding {
  if (JWT_ALGORITHM !== 'HS256') return ok('tokens are verified with a public key');
  const weak = JWT_SECRET_KEY ? weakSecrets(JWT_SECRET_KEY) : [];
  if (weak.length === 0) return ok('JWT_SECRET_KEY is long enough for HS256');
  return warning(
    weak.map((one) => one.warning).join('. '),
    'Anyone who guesses it can sign tokens for any person. Use a longer secret, here and on the site: `openssl rand -base64 32`.',
  );
}
