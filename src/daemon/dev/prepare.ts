import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { SampleApi } from '../../../plugins/sample/api.ts';
import { SAMPLE_DOCUMENT } from '../../../plugins/sample/document.ts';
import {
  companyRoutes,
  type DoneAction,
  SAMPLE_PEOPLE,
  type SamplePerson,
  type ShopParts,
} from '../../../plugins/sample/people.ts';
import { settingPrefix } from '../../channel/check-plugin.ts';
import type { ChannelPlugin, ChannelRequest, Route } from '../../channel/index.ts';
import { fileSetting } from '../../channel/setting.ts';
import { bundledModule } from '../channels/import-plugin.ts';
import { AgentdError } from '../errors.ts';
import { makePrivateDirectory } from '../files/make-directory.ts';
import { personKey } from '../identity/identity.ts';
import { signingSecret } from '../identity/keys.ts';
import { isAny } from '../identity/token-checks.ts';
import type { Services } from '../message/services.ts';
import {
  type ConfigLocation,
  type Configuration,
  type Inspection,
  inspectConfiguration,
  isDaemonAt,
} from '../settings/configure/configure.ts';
import { SETTINGS, type Settings } from '../settings/settings.ts';
import type { StructuredValue } from '../settings/sources.ts';
import { lockFile } from '../store/open.ts';
import { recordedSummary } from '../tools/journal/action-record.ts';
import { platformSettings } from './platforms.ts';
import { API_ACCOUNT, DOCUMENT_FILE, keptSampleTools } from './sample.ts';

/** The parts of `serve --dev`: settings, secrets, a sample company with an API and a shop. */
export type Dev = Awaited<ReturnType<typeof prepareDev>>;

/** The services of the daemon that the sample company uses. */
type DevServices = Pick<Services, 'tokens' | 'store' | 'seal'>;

/** The name of the env file in `.agentd/`. */
const ENV_FILE = 'env';
/** Maximum number of actions that the shop shows. */
const ACTIONS_SHOWN = 12;

/**
 * The settings for token keys. If one of them is set, the operator is rehearsing a real site, and the loop guard has
 * its usual defaults. Otherwise the guard is relaxed: a person who tries agentd asks the same question again and again,
 * which is not a loop. Bursts are still blocked, so that people can see the guard work.
 */
const TOKEN_KEYS = ['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'];
const RELAXED_GUARD = { LOOP_GUARD_REPEAT_THRESHOLD: '20', LOOP_GUARD_COOLDOWN_SECONDS: '5' };

/**
 * Makes `.agentd/` in the working directory, with secrets that stay the same in later runs. Only one `serve --dev` at a
 * time may use the directory, even if STATE_DIR is elsewhere, because other commands use the settings that are stored
 * in `.agentd/`.
 * @throws DevAlreadyRunning
 */
export async function prepareDev(location: ConfigLocation) {
  const directory = join(location.cwd, '.agentd');
  makePrivateDirectory(directory);
  const unlock = await lockFile(join(directory, 'dev.lock'));
  if (unlock === null) throw new DevAlreadyRunning(location.cwd);
  const explicit = await inspectConfiguration(location);
  const platforms = await platformSettings({
    plugins: wantedPlugins(explicit),
    effective: explicit.effective,
    seed: await keptSecret(join(directory, 'platform-seed')),
    kept: await keptEnv(directory),
  });
  const defaults: Record<string, string> = {
    STATE_DIR: directory,
    LOG_FILE: join(directory, 'agentd.log'),
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: await keptSecret(join(directory, 'jwt-secret')),
    MESSAGING_PLATFORMS: chooseChannels(explicit).join(','),
    ...(TOKEN_KEYS.some((name) => isSet(explicit, name)) ? {} : RELAXED_GUARD),
    ...platforms.settings,
  };
  let services: DevServices | null = null;
  let structured: readonly StructuredValue[] = [];
  let api: SampleApi | null = null;
  // The password of the sample account must never be sent to another API.
  if (!isSet(explicit, 'API_BASE_URL')) {
    // Loaded only here, because it loads `node:http`, which would slow down every start of a daemon.
    const { startSampleApi } = await import('../../../plugins/sample/api.ts');
    api = await startSampleApi({
      ...API_ACCOUNT,
      async findEmail(token) {
        const verdict = await services?.tokens.validate(token);
        return verdict?.valid ? verdict.user.email : null;
      },
    });
    defaults.API_BASE_URL = api.url;
    defaults.API_EMAIL = API_ACCOUNT.email;
    defaults.API_PASSWORD = API_ACCOUNT.password;
    await writeFile(join(directory, DOCUMENT_FILE), `${JSON.stringify(SAMPLE_DOCUMENT, null, 2)}\n`);
    structured = keptSampleTools(directory);
  } else await rm(join(directory, DOCUMENT_FILE), { force: true });
  return {
    /** Values for settings that no other source sets. */
    defaults,
    /** The tools of the sample API. They are used if the configuration file lists no tools. */
    structured,
    /**
     * What a command in the directory needs to find these settings. It uses the settings of the directory if they are
     * those of a daemon.
     */
    options: (await isDaemonAt(location)) ? ` --env-file .agentd/${ENV_FILE}` : '',
    people: SAMPLE_PEOPLE as readonly SamplePerson[],
    /** Names of the channels that talk to `agentd simulate` instead of their platform. */
    simulated: platforms.simulated,
    /**
     * Call this when the daemon has started. The sample API then checks tokens as the daemon does, and the shop shows
     * actions.
     */
    useServices(started: DevServices) {
      services = started;
    },
    shopRoutes: ({ channels, settings }: Configuration) =>
      shopRoutes(
        channels.map(({ plugin }) => plugin.name),
        {
          async issueToken(person_id) {
            const person = SAMPLE_PEOPLE.find(({ id }) => id === person_id);
            return person ? issueToken(person, settings) : null;
          },
          restore: () => api?.restore(),
          requestsAfter: (number) => api?.requestsAfter(number) ?? null,
          listActions: async (person_id) =>
            services === null ? [] : listActions(person_id, settings, services),
        },
      ),
    issueToken,
    /** Writes the file from which commands in a second terminal read these settings. */
    async keepEnvFile(url: string) {
      const path = join(directory, ENV_FILE);
      const { hostname, port } = new URL(url);
      const kept = {
        ...defaults,
        ...setExplicitly(explicit, Object.keys(defaults)),
        HOST: hostname,
        PORT: port,
      };
      const lines = Object.entries(kept).flatMap(([name, value]) =>
        value === null ? [] : formatLine(name, value),
      );
      await writeFile(path, lines.join(''), { mode: 0o600 });
    },
    async close() {
      await api?.close();
      unlock();
    },
  };
}

/**
 * Values set explicitly: settings of the daemon, and other settings that `names` lists. Secrets are null: they are
 * never copied. If a secret came from a file, the path of that file is kept instead.
 */
function setExplicitly({ effective }: Inspection, names: readonly string[]): Record<string, string | null> {
  const kept: Record<string, string | null> = {};
  for (const { record, value, source, file } of effective) {
    const isKept = names.includes(record.name) || SETTINGS.some(({ name }) => name === record.name);
    if (!isKept || value === undefined || source === 'default' || source === 'unset') continue;
    kept[record.name] = record.secret ? null : String(value);
    if (file !== undefined) kept[fileSetting(record.name)] = file;
  }
  return kept;
}

/** The file format has no escapes, so the value is put in quotes of a kind that it does not contain. */
function formatLine(name: string, value: string): string[] {
  const quote = ["'", '"', '`'].find((candidate) => !value.includes(candidate));
  return quote === undefined ? [] : [`${name}=${quote}${value}${quote}\n`];
}

/** The settings that an earlier run wrote for the second terminal; empty if there are none. */
async function keptEnv(directory: string): Promise<NodeJS.Dict<string>> {
  try {
    return parseEnv(await readFile(join(directory, ENV_FILE), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return {};
  }
}

/** The plugins of the channels that will be active. MESSAGING_PLATFORMS decides if it is set. */
function wantedPlugins(explicit: Inspection): readonly ChannelPlugin[] {
  if (isSet(explicit, 'MESSAGING_PLATFORMS')) return explicit.channels.map(({ plugin }) => plugin);
  const names = chooseChannels(explicit);
  return explicit.plugins.filter(({ name }) => names.includes(name));
}

/** Every available channel, except those that an `…_ENABLED=false` switches off. */
function chooseChannels({ available, effective }: Inspection): string[] {
  return available.filter((name) => {
    const enabled = effective.find(({ record }) => record.name === `${settingPrefix(name)}ENABLED`);
    return enabled?.value !== false || enabled.source === 'default';
  });
}

function isSet({ effective }: Inspection, name: string): boolean {
  return effective.find(({ record }) => record.name === name)?.value !== undefined;
}

/** Actions for a sample person, newest first. */
async function listActions(
  person_id: string,
  settings: Settings,
  { store, seal }: DevServices,
): Promise<DoneAction[]> {
  const person = personKey({ sub: person_id, ...pickIssuer(settings) });
  const found = await store.actions.list({ who: { person }, limit: ACTIONS_SHOWN });
  return found.map((action) => ({
    at: action.started_at ?? action.created_at,
    summary: recordedSummary(seal, action),
    outcome: action.state,
  }));
}

function pickIssuer({ JWT_ISSUER }: Settings): { iss?: string } {
  return isAny(JWT_ISSUER) ? {} : { iss: JWT_ISSUER };
}

/** A token of the person. Null if tokens are not signed with a shared secret. */
async function issueToken(person: SamplePerson, settings: Settings): Promise<string | null> {
  if (settings.JWT_ALGORITHM !== 'HS256' || !settings.JWT_SECRET_KEY) return null;
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    sub: person.id,
    email: person.email,
    name: person.name,
    roles: ['customer'],
    iat: now,
    exp: now + 24 * 60 * 60,
    ...pickIssuer(settings),
    ...(isAny(settings.JWT_AUDIENCE) ? {} : { aud: settings.JWT_AUDIENCE }),
  };
  const { signToken } = await import('../identity/jose.ts');
  return signToken(claims, signingSecret(settings.JWT_SECRET_KEY));
}

/** Reads a secret from its own file. The first run makes the file. */
async function keptSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const secret = randomBytes(32).toString('base64url');
    await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx' });
    await chmod(path, 0o600);
    return secret;
  }
}

/** Another `serve --dev` runs in the same directory (exit code 69). */
class DevAlreadyRunning extends Error {
  readonly code = 'DevAlreadyRunning';

  /** @param cwd the working directory of both processes */
  constructor(cwd: string) {
    super(`another \`serve --dev\` is running in ${cwd}`);
    this.name = 'DevAlreadyRunning';
  }
}

/**
 * The routes of the sample shop, a page of `serve --dev` on which a visitor signs in as a sample person. The page
 * belongs to a bundled channel: the first active channel with a module `shop-page` in its folder. This module exports
 * the routes of the page's files. Empty if no active channel has such a module.
 */
export async function shopRoutes(
  channels: readonly string[],
  parts: Omit<ShopParts, 'notFound'>,
): Promise<readonly Route[]> {
  for (const channel of channels) {
    const module = bundledModule(channel, 'shop-page');
    if (!existsSync(module)) continue;
    const { routes } = (await import(module.href)) as { routes: readonly Route[] };
    return [...routes, ...companyRoutes({ ...parts, notFound })].map(guardRoute);
  }
  return [];
}

function notFound(detail: string): AgentdError {
  return new AgentdError('not_found', detail);
}

function guardRoute(route: Route): Route {
  return {
    ...route,
    handle(request) {
      refuseForeignNames(request);
      return route.handle(request);
    },
  };
}

/**
 * Another site may point one of its own host names to this address (DNS rebinding). Its pages would then have the same
 * origin as the shop, and could fetch tokens. Therefore only addresses and `localhost` are allowed as host names.
 */
function refuseForeignNames({ headers }: ChannelRequest): void {
  const name = (headers.host ?? '').replace(/:\d+$/, '');
  if (/^(localhost|[\d.]+|\[[\da-f:.]+\])$/i.test(name)) return;
  throw notFound('Open the sample shop by its IP address, or as localhost.');
}
