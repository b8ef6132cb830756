import { Secret } from '../secret.ts';
import { expectFewKeys, listedKeys } from './listed-keys.ts';
import { UnusableKey } from './unusable-key.ts';

const SETTING = 'JWT_SECRET_KEY';
const PUBLIC_KEY = /-----BEGIN [A-Z ]*(?:PUBLIC KEY|CERTIFICATE)-----|^\s*ssh-rsa /m;
/** The first or last line of a PEM block whose other end is missing. */
const TORN_PEM = /^\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*$/;
const COMMENT = /^\s*#\s/;

/**
 * The HS256 secrets that are set, in their order. The first one signs the tokens that agentd issues itself.
 * @throws UnusableKey if one of them is known to anybody
 */
export function sharedSecrets(secret: Secret): readonly Secret[] {
  const text = secret.reveal();
  if (PUBLIC_KEY.test(text)) {
    throw new UnusableKey(
      SETTING,
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
      'a secret that only the site and agentd know; or JWT_ALGORITHM=RS256, if the site signs with a private key',
    );
  }
  const keys = listedKeys(text);
  expectFewKeys(SETTING, keys);
  if (keys.some((key) => TORN_PEM.test(key))) {
    throw new UnusableKey(
      SETTING,
      'has a line that begins or ends a PEM block, which would be a secret that anybody knows',
      'one secret per line',
    );
  }
  if (keys.length > 1 && keys.some((key) => COMMENT.test(key))) {
    throw new UnusableKey(
      SETTING,
      'has a line that begins with `# `, which would be a secret',
      'secrets only',
    );
  }
  return keys.map((key) => new Secret(key));
}

/** The secret that signs. @throws UnusableKey */
export function signingSecret(secret: Secret): Secret {
  const [first] = sharedSecrets(secret);
  if (first === undefined) throw new UnusableKey(SETTING, 'is empty', 'HS256 needs the signing secret');
  return first;
}
