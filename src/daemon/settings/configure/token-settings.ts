import { isSealingOff, problemOfKeys } from '../../identity/key-file.ts';
import { importKeys, sharedSecrets } from '../../identity/keys.ts';
import { isLoopback, isSecureAddress } from '../addresses.ts';
import type { Validation } from '../check.ts';
import { ConfigurationError } from '../problem.ts';
import type { Secret } from '../secret.ts';
import type { Settings } from '../settings.ts';

/** A shorter HS256 secret causes a warning: it should be at least as long as the hash (RFC 7518 §3.2). */
const SECRET_BITS = 256;
/** A shorter secret can be found by brute force, so it is refused in production and staging. */
const SECRET_BITS_MIN = 128;

/** Checks that the settings of tokens fit together (agentd-identity(7), "Keys"). */
export async function checkTokenSettings(validation: Validation): Promise<void> {
  const algorithm = validation.value('JWT_ALGORITHM');
  if (algorithm === 'HS256') checkSecret(validation);
  else if (algorithm === 'RS256') await checkPublicKey(validation);
  else if (!hasKey(validation))
    validation.demand('JWT_SECRET_KEY', 'is not set, but tokens cannot be checked without a key');
  // Checked although the algorithm is unknown, so that all problems are shown at once: a text that is not PEM can only
  // be an HS256 secret.
  else if (validation.isGiven('JWT_SECRET_KEY') && !isPem(validation.value('JWT_SECRET_KEY')))
    checkSecret(validation);
  if (algorithm === 'RS256') checkKeySet(validation);
  warnOfUnusedKeys(validation);
  for (const name of ['JWT_VERIFY_SIGNATURE', 'JWT_VERIFY_EXP'] as const) checkSwitch(validation, name);
  checkEncryptionKeys(validation);
  checkRenewal(validation);
}

function warnOfUnusedKeys(validation: Validation): void {
  if (validation.value('JWT_ALGORITHM') === 'HS256') {
    for (const name of ['JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const)
      if (validation.isGiven(name)) validation.warn(`${name} has no effect: JWT_ALGORITHM is HS256`);
  } else if (validation.isGiven('JWT_PUBLIC_KEY') && validation.isGiven('JWT_JWKS_URL')) {
    validation.warn('JWT_JWKS_URL has no effect: JWT_PUBLIC_KEY is set');
  }
}

function isPem(secret: Secret | undefined): boolean {
  return secret?.reveal().includes('-----BEGIN ') === true;
}

function hasKey(validation: Validation): boolean {
  return (['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const).some((name) =>
    validation.isGiven(name),
  );
}

function checkSecret(validation: Validation): void {
  validation.demand(
    'JWT_SECRET_KEY',
    validation.dev
      ? 'is not set: `serve --dev` was started with a secret of its own, which is not copied'
      : 'is not set, but JWT_ALGORITHM is HS256',
  );
  const secret = validation.value('JWT_SECRET_KEY');
  if (secret === undefined) return;
  try {
    sharedSecrets(secret);
  } catch (error) {
    refuseKey(validation, error);
    return;
  }
  for (const { bits, position, warning } of weakSecrets(secret)) {
    if (validation.guarded && bits < SECRET_BITS_MIN)
      validation.refuse(
        'JWT_SECRET_KEY',
        `${position}has ${bits} bits, and NODE_ENV is ${validation.environment}: anybody can find it by brute force and sign tokens`,
        `a secret of ${SECRET_BITS} bits or more, such as the output of \`openssl rand -base64 32\``,
      );
    else if (position !== '' && bits < SECRET_BITS_MIN)
      // Nobody generates such a secret: it is a comment, or a line of a JSON or YAML text, which anybody can guess.
      validation.refuse(
        'JWT_SECRET_KEY',
        `${position}has ${bits} bits: anybody who guesses this line can sign tokens`,
        'one secret per line, and nothing else',
      );
    else validation.warn(warning);
  }
}

interface WeakSecret {
  bits: number;
  /** Words that name the key if there are several, or an empty text. */
  position: string;
  warning: string;
}

/** The HS256 secrets that are too short. @throws ConfigurationError */
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
function checkKeySet(validation: Validation): void {
  const address = validation.value('JWT_JWKS_URL');
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || isLoopback(url)) return;
  if (url.protocol !== 'https:')
    validation.refuse(
      'JWT_JWKS_URL',
      'is not https: anybody between agentd and the issuer can replace the keys',
      'an https address',
    );
  const why = 'is not set, but the key set at JWT_JWKS_URL also signs tokens for other applications';
  validation.demand('JWT_ISSUER', why);
  validation.demand('JWT_AUDIENCE', why);
}

async function checkPublicKey(validation: Validation): Promise<void> {
  if (!hasKey(validation)) {
    validation.demand(
      'JWT_PUBLIC_KEY',
      'is not set, but JWT_ALGORITHM is RS256: this setting, JWT_JWKS_URL or JWT_SECRET_KEY must name the public key',
    );
    return;
  }
  try {
    await importKeys({
      JWT_ALGORITHM: 'RS256',
      JWT_VERIFY_SIGNATURE: true,
      JWT_SECRET_KEY: validation.value('JWT_SECRET_KEY'),
      JWT_PUBLIC_KEY: validation.value('JWT_PUBLIC_KEY'),
      JWT_JWKS_URL: validation.value('JWT_JWKS_URL'),
    });
  } catch (error) {
    refuseKey(validation, error);
  }
}

/** Reports a key that cannot be used. Throws any other error. */
function refuseKey(validation: Validation, error: unknown): void {
  if (!(error instanceof ConfigurationError)) throw error;
  for (const { setting, problem, right } of error.problems) {
    const name = setting as keyof Settings;
    // An invalid value is undefined here, and has already been reported.
    if (validation.value(name) !== undefined) validation.refuse(name, problem, right);
  }
}

function checkSwitch(validation: Validation, name: 'JWT_VERIFY_SIGNATURE' | 'JWT_VERIFY_EXP'): void {
  if (validation.value(name) !== false) return;
  const what =
    name === 'JWT_VERIFY_EXP' ? 'expired tokens are accepted' : 'anybody can make a token that is accepted';
  if (validation.developing) {
    validation.warn(`${name}=false: ${what}; for development only`);
    return;
  }
  const where =
    validation.environment === '' ? 'while NODE_ENV is not set' : `under NODE_ENV=${validation.environment}`;
  const right = validation.guarded
    ? 'true'
    : 'true; false needs NODE_ENV=development or NODE_ENV=test, or `agentd serve --dev`';
  validation.refuse(name, `is refused ${where}: ${what}`, right);
}

/** The tokens of persons are sent to the token endpoint, so nobody on the way may read them. */
function checkRenewal(validation: Validation): void {
  const names = ['TOKEN_RENEWAL_URL', 'TOKEN_RENEWAL_CLIENT_ID', 'TOKEN_RENEWAL_CLIENT_SECRET'] as const;
  const given = names.find((name) => validation.isGiven(name));
  if (given === undefined) return;
  for (const name of names)
    validation.demand(name, `is not set, but ${given} is: tokens cannot be renewed without it`);
  const address = validation.value('TOKEN_RENEWAL_URL');
  if (address === undefined || isSecureAddress(address)) return;
  validation.refuse(
    'TOKEN_RENEWAL_URL',
    'is not https: the tokens of persons could be read on the way',
    'an https or loopback address',
  );
}

/** The warning about TOKEN_ENCRYPTION_KEY=off. */
export const SEALING_OFF =
  'TOKEN_ENCRYPTION_KEY=off: tokens are stored unsealed, and anybody who can read STATE_DIR can act as their owners';

function checkEncryptionKeys(validation: Validation): void {
  const keys = validation.value('TOKEN_ENCRYPTION_KEY');
  if (keys === undefined) return;
  if (isSealingOff(keys)) {
    validation.warn(SEALING_OFF);
    return;
  }
  const problem = problemOfKeys(keys);
  if (problem === null) return;
  validation.refuse(
    'TOKEN_ENCRYPTION_KEY',
    problem,
    'the output of `openssl rand -base64 32`; several, separated by commas, while the key is being changed; or `off`',
  );
}
