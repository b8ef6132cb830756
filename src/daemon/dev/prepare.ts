import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TokenValidator } from '../identity/identity.ts';
import { signToken } from '../identity/sign-token.ts';
import type { Settings } from '../settings/settings.ts';
import { type SampleApi, startSampleApi } from './sample-api.ts';
import type { SamplePerson } from './sample-people.ts';

/** The defaults and the company that `serve --dev` brings along. */
export interface Dev {
  /** Settings that hold where nothing else sets them. */
  defaults: Record<string, string>;
  sampleApiUrl: string;
  /** The sample API checks tokens as the daemon does, once that knows how. */
  useValidator(tokens: TokenValidator): void;
  issueToken(person: SamplePerson, settings: Settings): Promise<string | null>;
  close(): Promise<void>;
}

const API_ACCOUNT = { email: 'service@example.com', password: 'sample' };

/** Makes `.agentd/` in the working directory with secrets that stay the same from run to run. */
export async function prepareDev({ cwd }: { cwd: string }): Promise<Dev> {
  const directory = join(cwd, '.agentd');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const secret = await keptSecret(join(directory, 'jwt-secret'), 'base64url');
  const encryptionKey = await keptSecret(join(directory, 'encryption-key'), 'base64');
  let tokens: TokenValidator | null = null;
  const api: SampleApi = await startSampleApi({
    ...API_ACCOUNT,
    validate: async (token) => (tokens ? tokens.validate(token) : { valid: false, reason: 'JWT Malformed' }),
  });
  return {
    defaults: {
      STATE_DIR: directory,
      LOG_FILE: join(directory, 'agentd.log'),
      JWT_ALGORITHM: 'HS256',
      JWT_SECRET_KEY: secret,
      TOKEN_ENCRYPTION_KEY: encryptionKey,
      WEBCHAT_ENABLED: 'true',
      API_BASE_URL: api.url,
      API_EMAIL: API_ACCOUNT.email,
      API_PASSWORD: API_ACCOUNT.password,
    },
    sampleApiUrl: api.url,
    useValidator(validator) {
      tokens = validator;
    },
    async issueToken(person, settings) {
      if (settings.JWT_ALGORITHM !== 'HS256' || !settings.JWT_SECRET_KEY) return null;
      const now = Math.floor(Date.now() / 1000);
      return signToken(
        {
          sub: person.id,
          email: person.email,
          name: person.name,
          roles: ['customer'],
          iat: now,
          exp: now + 24 * 60 * 60,
          ...(settings.JWT_ISSUER ? { iss: settings.JWT_ISSUER } : {}),
          ...(settings.JWT_AUDIENCE ? { aud: settings.JWT_AUDIENCE } : {}),
        },
        settings.JWT_SECRET_KEY,
      );
    },
    close: () => api.close(),
  };
}

/** A secret in a file of its own, made at the first run. */
async function keptSecret(path: string, encoding: 'base64' | 'base64url'): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const secret = randomBytes(32).toString(encoding);
    await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx' });
    await chmod(path, 0o600);
    return secret;
  }
}
