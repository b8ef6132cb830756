import { constants } from 'node:fs';
import { access, mkdtemp, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type AskOptions,
  askPlatform,
  askRegistration,
  SEALING_OFF,
  weakSecrets,
} from '../../daemon/admin/probes.ts';
import {
  type ConfiguredChannel,
  checkStart,
  type Inspection,
  type SettingProblem,
  type Settings,
} from '../../daemon/admin/settings.ts';
import { Volume } from '../../daemon/admin/store.ts';
import { Secret } from '../../daemon/admin/texts.ts';
import { checkClock, createFindings, type Finding, ProbeClient } from './finding.ts';
import { checkBusinessApi, checkKeySet, checkModel, checkTools } from './services.ts';
import { checkMemory, checkRenewal, checkSealing, checkStore } from './store.ts';

/** All checks of a valid configuration, in the order in which they are shown. */
export async function checkAll(
  settings: Settings,
  { channels, environment, tools }: Pick<Inspection, 'channels' | 'environment' | 'tools'>,
): Promise<Finding[]> {
  // The local checks run first: reading the whole store blocks this process, and would make other machines seem slow.
  const local = [
    checkSecrets(settings),
    ...(await checkStateDirectory(settings.STATE_DIR)),
    ...(await checkStore(settings)),
    ...(await checkSealing(settings)),
    ...(await checkRenewal(settings)),
  ];
  const client = new ProbeClient();
  const remote = await Promise.all([
    checkKeySet(settings, client),
    checkBusinessApi(settings, client),
    checkMemory(settings),
    checkTools({ settings, tools }, client),
    checkModel(settings, client),
    ...channels.map((channel) => checkChannel(channel, client, environment)),
  ]);
  return [...local, ...remote.flat(), ...checkClock(client.readings)];
}

/**
 * Checks whether the platform of a channel accepts the channel's credentials, and whether it delivers to the daemon.
 * @param environment `NODE_ENV`
 */
export async function checkChannel(
  configured: ConfiguredChannel,
  client: ProbeClient,
  environment: string,
): Promise<Finding[]> {
  const { name } = configured.plugin;
  const platform = `the platform of ${name}`;
  const options: AskOptions = {
    fetch: client.fetchFor(platform),
    isAnswered: () => client.answered.has(platform),
    environment,
  };
  const credentials = { check: `channel ${name}`, ...(await askPlatform(configured, options)) };
  // If the platform does not accept the credentials, it answers no other question. A channel without a platform has no
  // registration.
  if (credentials.outcome === 'failed' || credentials.outcome === 'skipped') return [credentials];
  const registration = await askRegistration(configured, options);
  if (registration.outcome === 'skipped') return [credentials];
  return [credentials, { check: `registration ${name}`, ...registration }];
}

const configuration = createFindings('configuration');

/** Runs the checks that the daemon runs before it starts. Each problem and each warning is a finding. */
export async function checkConfiguration(
  found: Inspection,
): Promise<{ findings: Finding[]; problems: readonly SettingProblem[] }> {
  const { problems } = await checkStart(found);
  const secret = found.effective.find(({ record }) => record.name === 'JWT_SECRET_KEY')?.value;
  const weak = problems.length === 0 && secret instanceof Secret ? weakSecrets(secret) : [];
  const names = found.channels.map(({ plugin }) => plugin.name).join(', ');
  const findings = [
    ...problems.map(({ setting, value, source, problem, right }) => {
      const what = value === null ? setting : `${setting}=${value}`;
      return configuration.failed(
        `${what}${source === null ? '' : ` (${source})`} ${problem}`,
        `Right: ${right}`,
      );
    }),
    // Secrets and sealing have their own checks.
    ...found.warnings
      .filter(
        (text) =>
          problems.length > 0 || (text !== SEALING_OFF && !weak.some(({ warning: same }) => text === same)),
      )
      .map((text) => configuration.warning(text)),
  ];
  return {
    findings: findings.length > 0 ? findings : [configuration.ok(`valid; channels: ${names || 'none'}`)],
    problems,
  };
}

const secrets = createFindings('secrets');

/** Checks whether the secret that signs tokens is strong enough. */
function checkSecrets({ JWT_ALGORITHM, JWT_SECRET_KEY }: Settings): Finding {
  if (JWT_ALGORITHM !== 'HS256') return secrets.ok('tokens are verified with a public key');
  const weak = JWT_SECRET_KEY ? weakSecrets(JWT_SECRET_KEY) : [];
  if (weak.length === 0) return secrets.ok('JWT_SECRET_KEY is long enough for HS256');
  return secrets.warning(
    weak.map((one) => one.warning).join('. '),
    'Anyone who guesses it can sign tokens for any person. Use a longer secret, here and on the site: `openssl rand -base64 32`.',
  );
}

const directory = createFindings('state directory');
const MIB = 1024 * 1024;
/** Enough free space for the write-ahead log after a burst and for some days of data, bytes. */
const SPACE_GOOD = 512 * MIB;
const OTHERS = 0o077;
const OWN_USER =
  'Run the doctor as the user that the daemon runs as, and check that this user owns the directory.';

/** Checks whether STATE_DIR exists, is private and writable, and whether its disk has free space. */
export async function checkStateDirectory(path: string): Promise<Finding[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    if (found.code === 'ENOENT' || found.code === 'ENOTDIR') return [await checkMissing(path)];
    return [directory.failed(`cannot read ${path}: ${found.code}`, OWN_USER)];
  }
  if (!found.isDirectory())
    return [directory.failed(`${path} is not a directory`, 'Set STATE_DIR to a directory.')];
  if (!(await may(path, constants.R_OK | constants.W_OK | constants.X_OK)))
    return [directory.failed(`this user cannot read and write ${path}`, OWN_USER)];
  const volume = new Volume(path);
  const free = volume.space()?.free_bytes ?? Number.POSITIVE_INFINITY;
  const left = Number.isFinite(free) ? `has ${formatBytes(free)} left` : 'does not report its free space';
  const findings: Finding[] = [];
  if ((found.mode & OTHERS) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    findings.push(
      directory.warning(`other users of this machine can access ${path} (mode ${mode})`, `chmod 700 ${path}`),
    );
  }
  if (free < SPACE_GOOD)
    findings.push(
      (volume.hasRoom() ? directory.warning : directory.failed)(
        `the disk of ${path} ${left}`,
        'Free some space: on a full disk, the daemon refuses platform messages and cannot store answers.',
      ),
    );
  return findings.length > 0 ? findings : [directory.ok(`${path} is private, its disk ${left}`)];
}

/**
 * Checks whether the first start of the daemon can create the missing state directory. A test directory is created in
 * the nearest directory above that exists, because the permissions alone do not show whether the file system is
 * read-only.
 */
async function checkMissing(path: string): Promise<Finding> {
  let above = dirname(path);
  while (!(await exists(above)) && dirname(above) !== above) above = dirname(above);
  try {
    await rmdir(await mkdtemp(join(above, '.agentd-doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return directory.failed(`${path} does not exist, and cannot be created in ${above}: ${code}`, OWN_USER);
  }
  return directory.skipped(`${path} does not exist yet: the first start creates it`);
}

function formatBytes(bytes: number): string {
  const mib = Math.floor(bytes / MIB);
  return mib < 10 * 1024 ? `${mib} MiB` : `${Math.floor(mib / 1024)} GiB`;
}

async function exists(path: string): Promise<boolean> {
  return may(path, constants.F_OK);
}

async function may(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}
