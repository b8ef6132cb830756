import { randomBytes } from 'node:crypto';
import type { SettingRecord } from '../../channel/index.ts';
import type { Answers } from './answers.ts';

/** Secrets that agentd can make itself, 256 bits each. */
const GENERATED = ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN'] as const;
/** Secrets that the operator of a channel makes up and enters at the platform. */
const MADE_UP = /_(?:VERIFY_TOKEN|WEBHOOK_SECRET)$/;

export interface Secrets {
  /** New random values by setting. */
  generated: ReadonlyMap<string, string>;
  /** Settings that the chosen channels need and that only the platform can issue. */
  needed: readonly string[];
  /** Credentials that only the provider of the API or of the model can issue, if it requires any. */
  optional: readonly string[];
}

/** The secrets of a configuration with these channels and answers. */
export function chooseSecrets(
  { api, model }: Pick<Answers, 'api' | 'model'>,
  channels: readonly string[],
  settings: readonly SettingRecord[],
): Secrets {
  const ofChannels = settings
    .filter(({ name, secret }) => secret && channels.some((one) => name.startsWith(`${one.toUpperCase()}_`)))
    .map(({ name }) => name);
  const names = [...GENERATED, ...ofChannels.filter((name) => MADE_UP.test(name))];
  return {
    generated: new Map(names.map((name) => [name, randomSecret(name)])),
    needed: ofChannels.filter((name) => !names.includes(name)),
    optional: [...(api === '' ? [] : ['API_PASSWORD']), ...(model === '' ? [] : ['AGENT_API_KEY'])],
  };
}

function randomSecret(name: string): string {
  return randomBytes(32).toString(name === 'TOKEN_ENCRYPTION_KEY' ? 'base64' : 'base64url');
}
