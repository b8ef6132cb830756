import { Secret } from '../secret.ts';
import type { Examination } from './examination.ts';
import type { Settings } from './settings.ts';

/** An HS256 secret should have 256 bits (decisions §2). */
const SECRET_BYTES = 32;
/** 32 bytes: 43 characters of base64 and their padding. */
const KEY_OF_32_BYTES = /^[A-Za-z0-9+/_-]{43}=?$/;
const PUBLIC_KEY = /-----BEGIN [A-Z ]*(?:PUBLIC KEY|CERTIFICATE)-----|^\s*ssh-rsa /;

/** Do the settings of tokens fit together? (decisions §2) */
export async function checkTokenSettings(look: Examination): Promise<void> {
  const algorithm = look.value('JWT_ALGORITHM');
  if (algorithm === 'HS256') checkSecret(look);
  else if (algorithm === 'RS256') await checkPublicKey(look);
  else if (!hasKey(look))
    look.demand('JWT_SECRET_KEY', 'is not set, and tokens cannot be checked without a key');
  for (const name of ['JWT_VERIFY_SIGNATURE', 'JWT_VERIFY_EXP'] as const) checkSwitch(look, name);
  checkEncryptionKeys(look);
}

function hasKey(look: Examination): boolean {
  return (['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const).some((name) => look.isGiven(name));
}

function checkSecret(look: Examination): void {
  look.demand('JWT_SECRET_KEY', 'is not set, and JWT_ALGORITHM is HS256');
  const secret = look.value('JWT_SECRET_KEY')?.reveal();
  if (secret === undefined) return;
  if (PUBLIC_KEY.test(secret)) {
    // Everybody has a public key, so everybody could sign tokens with it.
    look.refuse(
      'JWT_SECRET_KEY',
      'is a public key, and JWT_ALGORITHM is HS256: whoever has that key could sign tokens',
      'a secret that only the site and agentd know; or JWT_ALGORITHM=RS256, if the site signs with a private key',
    );
    return;
  }
  const weak = weakSecret(new Secret(secret));
  if (weak !== null) look.warn(weak);
}

/** What is to be said of an HS256 secret that is too short; null of one that is not. */
export function weakSecret(secret: Secret): string | null {
  const bytes = Buffer.byteLength(secret.reveal());
  if (bytes >= SECRET_BYTES) return null;
  return `JWT_SECRET_KEY has ${bytes * 8} bits; HS256 should have a secret of 256 bits or more`;
}

async function checkPublicKey(look: Examination): Promise<void> {
  if (!hasKey(look)) {
    look.demand(
      'JWT_PUBLIC_KEY',
      'is not set, and JWT_ALGORITHM is RS256: it, JWT_JWKS_URL or JWT_SECRET_KEY must name the public key',
    );
    return;
  }
  // Loaded only where it is needed: commands that read tokens of HS256 start without it.
  const { importKeys, UnusableKey } = await import('../identity/keys.ts');
  try {
    await importKeys({
      JWT_ALGORITHM: 'RS256',
      JWT_VERIFY_SIGNATURE: true,
      JWT_SECRET_KEY: look.value('JWT_SECRET_KEY'),
      JWT_PUBLIC_KEY: look.value('JWT_PUBLIC_KEY'),
      JWT_JWKS_URL: look.value('JWT_JWKS_URL'),
    });
  } catch (error) {
    if (!(error instanceof UnusableKey)) throw error;
    const setting = error.setting as keyof Settings;
    // What is given but wrong in itself has been told already.
    if (look.value(setting) !== undefined) look.refuse(setting, error.problem, error.right);
  }
}

function checkSwitch(look: Examination, name: 'JWT_VERIFY_SIGNATURE' | 'JWT_VERIFY_EXP'): void {
  if (look.value(name) !== false) return;
  const what =
    name === 'JWT_VERIFY_EXP' ? 'expired tokens are accepted' : 'anybody can make a token that is accepted';
  if (look.guarded) look.refuse(name, `is refused under NODE_ENV=${look.environment}: ${what}`, 'true');
  else look.warn(`${name}=false: ${what}; for development only`);
}

function checkEncryptionKeys(look: Examination): void {
  const keys = look.value('TOKEN_ENCRYPTION_KEY')?.reveal().split(',') ?? [];
  const wrong = keys.findIndex((key) => !KEY_OF_32_BYTES.test(key.trim()));
  if (wrong === -1) return;
  look.refuse(
    'TOKEN_ENCRYPTION_KEY',
    keys.length === 1
      ? 'is not 32 bytes in base64'
      : `has a key (number ${wrong + 1}) that is not 32 bytes in base64`,
    'the output of `openssl rand -base64 32`; several, separated by commas, where the key is being changed',
  );
}
