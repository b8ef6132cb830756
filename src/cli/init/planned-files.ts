import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SettingRecord } from '../../channel/index.ts';
import { packageFolder } from '../../daemon/admin/program.ts';
import { fileSetting, type SettingsReference } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import type { NewFile } from '../scaffold.ts';
import { type Answers, toSettings } from './answers.ts';

/**
 * Where secrets are written: all in one env file, or each secret in its own file (for systemd, containers and
 * Kubernetes).
 */
export type Form = 'env' | 'secret-files' | 'systemd';

interface Plan {
  directory: string;
  form: Form;
  answers: Answers;
  channels: readonly string[];
  secrets: Secrets;
  reference: SettingsReference;
}

/** The file that init always writes. */
export const CONFIGURATION = 'agentd.yaml';
/** The folder of secrets, as seen from agentd.yaml. */
const SECRETS = 'secrets';
const UNITS = ['agentd.service', 'agentd-backup.service', 'agentd-backup.timer'] as const;
/** The state directory of the systemd service, as in `StateDirectory=`. */
const SYSTEMD_STATE = '/var/lib/agentd';

export async function plannedFiles(plan: Plan): Promise<NewFile[]> {
  const { directory, form, reference, secrets } = plan;
  const config = {
    path: join(directory, CONFIGURATION),
    content: reference.example(planValues(plan)),
    mode: 0o644,
  };
  if (form === 'env')
    return [config, { path: join(directory, '.env'), content: envFile(plan.answers, secrets), mode: 0o600 }];
  const files = [...secrets.generated].map(([name, content]) => ({
    path: join(directory, SECRETS, name),
    content,
    mode: 0o600,
    directoryMode: 0o700,
  }));
  return [config, ...files, ...(form === 'systemd' ? await unitFiles(directory, secrets) : [])];
}

function planValues({ answers, channels, reference, secrets, form }: Plan): Map<string, unknown> {
  const values = new Map<string, unknown>([
    ['MESSAGING_PLATFORMS', channels],
    ['JWT_ALGORITHM', 'HS256'],
    ['ADMIN_LISTEN', '127.0.0.1:9464'],
    ...toSettings(answers),
  ]);
  const known: readonly SettingRecord[] = reference.groups.flatMap(({ records }) => records);
  const switches = channels.map((channel) => `${channel.toUpperCase()}_ENABLED`);
  for (const record of known) if (switches.includes(record.name)) values.set(record.name, true);
  if (form === 'systemd') values.set('STATE_DIR', SYSTEMD_STATE);
  if (form !== 'env')
    for (const secret of [...secrets.generated.keys(), ...secrets.needed])
      values.set(fileSetting(secret), `${SECRETS}/${secret}`);
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
      const content =
        name === 'agentd.service'
          ? withCredentials(paths, directory, [...generated.keys(), ...needed])
          : paths;
      return { path: join(directory, name), content, mode: 0o644 };
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
    `Environment=${fileSetting(name)}=%d/${name}`,
  ]);
  return lines.toSpliced(last + 1, 0, ...added).join('\n');
}

/** The next steps for the operator, as lines: first the values to fill in, then the commands to type. */
export function nextSteps(plan: Plan, cwd: string): string[] {
  return [...toFillIn(plan), '', 'Next:', ...commands(plan, cwd).map((line) => `  ${line}`)];
}

/** Directories that the units of the package hide from the service: PrivateTmp= and ProtectHome=. */
const HIDDEN = /^\/(?:tmp|var\/tmp|home|root|run\/user)(?:\/|$)/;

/** A warning if the service could not read its configuration. Null if it can. */
export function hiddenFromService({ directory, form }: Plan): string | null {
  if (form !== 'systemd' || !HIDDEN.test(directory)) return null;
  return `warning: the service cannot read ${printable(directory)}, since its units have PrivateTmp=yes and ProtectHome=yes. Run this again with another --directory.`;
}

function toFillIn({
  directory,
  form,
  answers: { api },
  secrets: { needed, optional, settings },
}: Plan): string[] {
  const isEnv = form === 'env';
  const folder = printable(join(directory, SECRETS));
  const place = isEnv ? 'them into .env' : `each into a file of the same name in ${folder}`;
  const [first = ''] = optional;
  // systemd reads the file as root: the service itself cannot.
  const unit = form === 'systemd' ? ', and two lines to agentd.service, like those of JWT_SECRET_KEY' : '';
  const named = isEnv
    ? ''
    : ` Add the path of the file to agentd.yaml (${fileSetting(first)}: ${SECRETS}/${first})${unit}.`;
  const wanted = api !== '' && isEnv ? ['API_EMAIL', ...optional] : optional;
  const email = api === '' || isEnv ? '' : ' Set API_EMAIL in agentd.yaml.';
  return [
    ...(needed.length === 0
      ? []
      : ['', `Get these values from the platforms, and put ${place}: ${needed.join(', ')}.`]),
    ...(settings.length === 0
      ? []
      : [
          '',
          `Get these values from the platforms, too, and set them in agentd.yaml: ${settings.join(', ')}.`,
        ]),
    ...(wanted.length === 0
      ? []
      : ['', `If your API or model needs these values, put ${place}: ${wanted.join(', ')}.${named}${email}`]),
  ];
}

function commands({ directory, form }: Plan, cwd: string): string[] {
  const config = `--config ${printable(join(directory, CONFIGURATION))}`;
  if (form === 'systemd')
    return [
      'useradd --system --home-dir /var/lib/agentd --shell /usr/sbin/nologin agentd',
      `agentd doctor ${config}`,
      `cp ${printable(directory)}/agentd*.service ${printable(directory)}/agentd*.timer /etc/systemd/system/`,
      'systemctl daemon-reload',
      'systemctl enable --now agentd.service agentd-backup.timer',
      `agentd status ${config}`,
      'man agentd-deploy    # a proxy with TLS, monitoring, upgrades',
    ];
  return [
    ...(directory === cwd ? [] : [`cd ${printable(directory)}`]),
    'agentd config check    # are the settings valid?',
    'agentd doctor          # does everything that they name exist and work?',
    'agentd serve           # run it, here',
    'man agentd-deploy      # run it with systemd, in a container or in Kubernetes',
  ];
}

/** Secrets that agentd can make itself, 256 bits each. */
const GENERATED = ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN'] as const;
/** Secrets that the operator of a channel makes up and enters at the platform. */
const MADE_UP = /_(?:VERIFY_TOKEN|WEBHOOK_SECRET)$/;

interface Secrets {
  /** New random values by setting. */
  generated: ReadonlyMap<string, string>;
  /** Settings that the chosen channels need and that only the platform can issue. */
  needed: readonly string[];
  /** The same for settings that are not secret. */
  settings: readonly string[];
  /** Credentials that only the provider of the API or of the model can issue, if it requires any. */
  optional: readonly string[];
}

/** The secrets of a configuration with these channels and answers, and the other values that it needs. */
export function chooseSecrets(
  { api, model }: Pick<Answers, 'api' | 'model'>,
  channels: readonly string[],
  settings: readonly SettingRecord[],
): Secrets {
  const isOfChannel = ({ name }: SettingRecord) =>
    channels.some((channel) => name.startsWith(`${channel.toUpperCase()}_`));
  const records = settings.filter(isOfChannel);
  const ofChannels = records.filter(({ secret }) => secret).map(({ name }) => name);
  const names = [...GENERATED, ...ofChannels.filter((name) => MADE_UP.test(name))];
  return {
    generated: new Map(names.map((name) => [name, randomSecret(name)])),
    needed: ofChannels.filter((name) => !names.includes(name)),
    settings: records.filter(({ required, secret }) => required && !secret).map(({ name }) => name),
    optional: [...(api === '' ? [] : ['API_PASSWORD']), ...(model === '' ? [] : ['AGENT_API_KEY'])],
  };
}

function randomSecret(name: string): string {
  return randomBytes(32).toString(name === 'TOKEN_ENCRYPTION_KEY' ? 'base64' : 'base64url');
}
