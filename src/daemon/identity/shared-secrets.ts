import { createPublicKey } from 'node:crypto';
import { Secret } from '../settings/secret.ts';
import { expectFewKeys, listedKeys } from './listed-keys.ts';
import { UnusableKey } from './unusable-key.ts';

const SETTING = 'JWT_SECRET_KEY';
/** A public key as PEM, for SSH, or as a JWK. */
const PUBLIC_KEY =
  /-----BEGIN [A-Z ]*(?:PUBLIC KEY|CERTIFICATE)-----|^\s*(?:ssh-|ecdsa-sha2-|sk-)\S+ AAAA|"kty"\s*:\s*"(?:RSA|EC|OKP)"/m;
/** The begin of a public key (SPKI) in base64, as it is without the lines of PEM, and the rest of it. */
const BARE_PUBLIC_KEY = /M[A-Za-z0-9+/]{40}[A-Za-z0-9+/\s]*={0,2}/g;
/** The first or last line of a PEM block whose other end is missing. */
const TORN_PEM = /^\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*$/;
const COMMENT = /^\s*#\s/;

/**
 * The HS256 secrets that are set, in their order. The first one signs the tokens that agentd issues itself.
 * @throws UnusableKey if one of them is known to anybody
 */
export function sharedSecrets(secret: Secret): readonly Secret[] {
  const text = secret.reveal();
  if (PUBLIC_KEY.test(text) || holdsBarePublicKey(text)) {
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

/** Whether a part of the text is a public key in base64, on one line or on several. */
function holdsBarePublicKey(text: string): boolean {
  return [...text.matchAll(BARE_PUBLIC_KEY)].some(([base64]) => {
    try {
      createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
      return true;
    } catch {
      // Any other secret in base64: it is not a key at all.
      return false;
    }
  });
}

/** The secret that signs. @throws UnusableKey */
export function signingSecret(secret: Secret): Secret {
  const [first] = sharedSecrets(secret);
  if (first === undefined) throw new UnusableKey(SETTING, 'is empty', 'HS256 needs the signing secret');
  return first;
}
