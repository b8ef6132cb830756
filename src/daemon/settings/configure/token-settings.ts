import { isSealingOff, problemOfKeys } from '../../identity/key-file.ts';
import { sharedSecrets, UnusableKey } from '../../identity/keys.ts';
import { isLoopback } from '../addresses.ts';
import type { Examination } from '../check.ts';
import type { Secret } from '../secret.ts';
import type { Settings } from '../settings.ts';

/** A shorter HS256 secret causes a warning: it should be at least as long as the hash (RFC 7518 §3.2). */
const SECRET_BITS = 256;
/** A shorter secret can be found by brute force, so it is refused in production and staging. */
const SECRET_BITS_MIN = 128;

/** Checks that the settings of tokens fit together (agentd-identity(7), "Keys"). */
export async function checkTokenSettings(look: Examination): Promise<void> {
  const algorithm = look.value('JWT_ALGORITHM');
  if (algorithm === 'HS256') checkSecret(look);
  else if (algorithm === 'RS256') await checkPublicKey(look);
  else if (!hasKey(look))
    look.demand('JWT_SECRET_KEY', 'is not set, but tokens cannot be checked without a key');
  // Checked although the algorithm is unknown, so that all problems are shown at once: a text that is not PEM can only
  // be an HS256 secret.
  else if (look.isGiven('JWT_SECRET_KEY') && !isPem(look.value('JWT_SECRET_KEY'))) checkSecret(look);
  if (algorithm === 'RS256') checkKeySet(look);
  for (const name of ['JWT_VERIFY_SIGNATURE', 'JWT_VERIFY_EXP'] as const) checkSwitch(look, name);
  checkEncryptionKeys(look);
  checkRenewal(look);
}

function isPem(secret: Secret | undefined): boolean {
  return secret?.reveal().includes('-----BEGIN ') === true;
}

function hasKey(look: Examination): boolean {
  return (['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const).some((name) => look.isGiven(name));
}

function checkSecret(look: Examination): void {
  look.demand('JWT_SECRET_KEY', 'is not set, but JWT_ALGORITHM is HS256');
  const secret = look.value('JWT_SECRET_KEY');
  if (secret === undefined) return;
  try {
    sharedSecrets(secret);
  } catch (error) {
    if (!(error instanceof UnusableKey)) throw error;
    look.refuse('JWT_SECRET_KEY', error.problem, error.right);
    return;
  }
  for (const { bits, position, warning } of weakSecrets(secret)) {
    if (look.guarded && bits < SECRET_BITS_MIN)
      look.refuse(
        'JWT_SECRET_KEY',
        `${position}has ${bits} bits, and NODE_ENV is ${look.environment}: anybody can find it by brute force and sign tokens`,
        `a secret of ${SECRET_BITS} bits or more, such as the output of \`openssl rand -base64 32\``,
      );
    else if (position !== '' && bits < SECRET_BITS_MIN)
      // Nobody generates such a secret: it is a comment, or a line of a JSON or YAML text, which anybody can guess.
      look.refuse(
        'JWT_SECRET_KEY',
        `${position}has ${bits} bits: anybody who guesses this line can sign tokens`,
        'one secret per line, and nothing else',
      );
    else look.warn(warning);
  }
}

interface WeakSecret {
  bits: number;
  /** Words that name the key if there are several, or an empty text. */
  position: string;
  warning: string;
}

/** The HS256 secrets that are too short. @throws UnusableKey */
export function weakSecrets(secret: Secret): readonly WeakSecret[] {
  const bits = sharedSecrets(secret).map((one) => Buffer.byteLength(one.reveal()) * 8);
  return bits.flatMap((count, at) => {
    if (count >= SECRET_BITS) return [];
    const position = bits.length === 1 ? '' : `(key ${at + 1} of ${bits.length}) `;
    const warning = `JWT_SECRET_KEY ${position}has ${count} bits; HS256 should have a secret of ${SECRET_BITS} bits or more`;
    return [{ bits: count, position, warning }];
  });
}

/**
 * An issuer signs the tokens of many applications with one key set. Without an expected issuer and audience, a token
 * for any of them is accepted (RFC 8725 §3.8, §3.9); over http, anybody between agentd and the issuer can replace the
 * keys.
 */
function checkKeySet(look: Examination): void {
  const address = look.value('JWT_JWKS_URL');
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || isLoopback(url)) return;
  if (url.protocol !== 'https:')
    look.refuse(
      'JWT_JWKS_URL',
      'is not https: anybody between agentd and the issuer can replace the keys',
      'an https address',
    );
  const why = 'is not set, but the key set at JWT_JWKS_URL also signs tokens for other applications';
  look.demand('JWT_ISSUER', why);
  look.demand('JWT_AUDIENCE', why);
}

async function checkPublicKey(look: Examination): Promise<void> {
  if (!hasKey(look)) {
    look.demand(
      'JWT_PUBLIC_KEY',
      'is not set, but JWT_ALGORITHM is RS256: this setting, JWT_JWKS_URL or JWT_SECRET_KEY must name the public key',
    );
    return;
  }
  // Loaded only if needed: commands that read HS256 tokens start without it.
  const { importKeys } = await import('../../identity/keys.ts');
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
    // An invalid value is undefined here, and has already been reported.
    if (look.value(setting) !== undefined) look.refuse(setting, error.problem, error.right);
  }
}

function checkSwitch(look: Examination, name: 'JWT_VERIFY_SIGNATURE' | 'JWT_VERIFY_EXP'): void {
  if (look.value(name) !== false) return;
  const what =
    name === 'JWT_VERIFY_EXP' ? 'expired tokens are accepted' : 'anybody can make a token that is accepted';
  if (look.developing) {
    look.warn(`${name}=false: ${what}; for development only`);
    return;
  }
  const where = look.environment === '' ? 'while NODE_ENV is not set' : `under NODE_ENV=${look.environment}`;
  const right = look.guarded
    ? 'true'
    : 'true; false needs NODE_ENV=development or NODE_ENV=test, or `agentd serve --dev`';
  look.refuse(name, `is refused ${where}: ${what}`, right);
}

/** The tokens of persons are sent to the token endpoint, so nobody on the way may read them. */
function checkRenewal(look: Examination): void {
  const names = ['TOKEN_RENEWAL_URL', 'TOKEN_RENEWAL_CLIENT_ID', 'TOKEN_RENEWAL_CLIENT_SECRET'] as const;
  const given = names.find((name) => look.isGiven(name));
  if (given === undefined) return;
  for (const name of names)
    look.demand(name, `is not set, but ${given} is: tokens cannot be renewed without it`);
  const address = look.value('TOKEN_RENEWAL_URL');
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || url.protocol === 'https:' || isLoopback(url)) return;
  look.refuse(
    'TOKEN_RENEWAL_URL',
    'is not https: the tokens of persons could be read on the way',
    'an https or loopback address',
  );
}

/** The warning about TOKEN_ENCRYPTION_KEY=off. */
export const SEALING_OFF =
  'TOKEN_ENCRYPTION_KEY=off: tokens are stored unsealed, and anybody who can read STATE_DIR can act as their owners';

function checkEncryptionKeys(look: Examination): void {
  const keys = look.value('TOKEN_ENCRYPTION_KEY');
  if (keys === undefined) return;
  if (isSealingOff(keys)) {
    look.warn(SEALING_OFF);
    return;
  }
  const problem = problemOfKeys(keys);
  if (problem === null) return;
  look.refuse(
    'TOKEN_ENCRYPTION_KEY',
    problem,
    'the output of `openssl rand -base64 32`; several, separated by commas, while the key is being changed; or `off`',
  );
}
