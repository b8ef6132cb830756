import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SettingRecord } from '../../channel/index.ts';
import { packageFolder } from '../../daemon/admin/files.ts';
import { fileSettingOf } from '../../daemon/admin/setting-values.ts';
import type { SettingsReference } from '../../daemon/admin/settings.ts';
import type { NewFile } from '../write-new-files.ts';
import { type Answers, settingsOf } from './answers.ts';
import type { Secrets } from './secrets.ts';

/**
 * Where secrets are written: all in one env file, or each secret in its own file (for systemd, containers and
 * Kubernetes).
 */
export type Form = 'env' | 'secret-files' | 'systemd';

export interface Plan {
  directory: string;
  form: Form;
  answers: Answers;
  channels: readonly string[];
  secrets: Secrets;
  reference: SettingsReference;
}

/** The folder of secrets, as seen from agentd.yaml. */
export const SECRETS = 'secrets';
const UNITS = ['agentd.service', 'agentd-backup.service', 'agentd-backup.timer'] as const;
/** The state directory of the systemd service, as in `StateDirectory=`. */
const SYSTEMD_STATE = '/var/lib/agentd';

/** All files of a new configuration. */
export async function plannedFiles(plan: Plan): Promise<NewFile[]> {
  const { directory, form, reference, secrets } = plan;
  const config = {
    path: join(directory, 'agentd.yaml'),
    text: reference.example(valuesOf(plan)),
    mode: 0o644,
  };
  if (form === 'env')
    return [config, { path: join(directory, '.env'), text: envFile(plan.answers, secrets), mode: 0o600 }];
  const files = [...secrets.generated].map(([name, text]) => ({
    path: join(directory, SECRETS, name),
    text,
    mode: 0o600,
    directoryMode: 0o700,
  }));
  return [config, ...files, ...(form === 'systemd' ? await unitFiles(directory, secrets) : [])];
}

function valuesOf({ answers, channels, reference, secrets, form }: Plan): Map<string, unknown> {
  const values = new Map<string, unknown>([
    ['MESSAGING_PLATFORMS', channels],
    ['JWT_ALGORITHM', 'HS256'],
    ['ADMIN_LISTEN', '127.0.0.1:9464'],
    ...settingsOf(answers),
  ]);
  const known: readonly SettingRecord[] = reference.groups.flatMap(({ records }) => records);
  const switches = channels.map((channel) => `${channel.toUpperCase()}_ENABLED`);
  for (const record of known) if (switches.includes(record.name)) values.set(record.name, true);
  if (form === 'systemd') values.set('STATE_DIR', SYSTEMD_STATE);
  if (form !== 'env')
    for (const secret of [...secrets.generated.keys(), ...secrets.needed])
      values.set(fileSettingOf(secret), `${SECRETS}/${secret}`);
  return values;
}

function envFile({ api }: Answers, { generated, needed, optional }: Secrets): string {
  const wanted = [...needed, ...(api === '' ? [] : ['API_EMAIL']), ...optional];
  return [
    '# Secrets of agentd. Keep this file private: anyone who reads it can act as any person.',
    '# JWT_SECRET_KEY is shared with the site that signs the tokens of its users.',
    ...[...generated].map(([name, value]) => `${name}=${value}`),
    ...(wanted.length === 0 ? [] : ['', '# Values that only the platform or the provider can give you:']),
    ...wanted.map((name) => `# ${name}=`),
    '',
  ].join('\n');
}

/** The units of the package. The unit of the daemon gets a credential for each further secret of a channel. */
async function unitFiles(directory: string, { generated, needed }: Secrets): Promise<NewFile[]> {
  return Promise.all(
    UNITS.map(async (name) => {
      const unit = await readFile(join(packageFolder(), 'config', name), 'utf8');
      const paths = unit.replaceAll('/etc/agentd/', `${directory}/`);
      const text =
        name === 'agentd.service'
          ? withCredentials(paths, directory, [...generated.keys(), ...needed])
          : paths;
      return { path: join(directory, name), text, mode: 0o644 };
    }),
  );
}

/** Adds the credentials that the unit lacks, after those that it has. */
function withCredentials(unit: string, directory: string, names: readonly string[]): string {
  const lines = unit.split('\n');
  const missing = names.filter((name) => !lines.some((line) => line.startsWith(`LoadCredential=${name}:`)));
  const last = lines.findLastIndex((line) => /^Environment=\w+_FILE=%d\//.test(line));
  const added = missing.flatMap((name) => [
    `LoadCredential=${name}:${join(directory, SECRETS, name)}`,
    `Environment=${fileSettingOf(name)}=%d/${name}`,
  ]);
  return lines.toSpliced(last + 1, 0, ...added).join('\n');
}
