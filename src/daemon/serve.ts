import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, ChannelPlugin, Route } from '../channel/index.ts';
import { runtimeName } from './agent/load.ts';
import { LongTermMemory } from './agent/long-term-memory.ts';
import { reachModels } from './agent/model-servers.ts';
import { onChange } from './agents/agents.ts';
import { createChannels, startChannel } from './channels/create-channels.ts';
import { PlatformWatch } from './channels/platform-watch.ts';
import { createChannel } from './channels/scope.ts';
import { simulatedRoutes } from './channels/simulator.ts';
import { createServices } from './create-services.ts';
import { version } from './files/version.ts';
import { renewalCheck } from './http/admin-server.ts';
import { backChannelLogout } from './http/back-channel-logout.ts';
import { feedbackRoute } from './http/feedback-route.ts';
import { linkRoutes } from './http/link-routes.ts';
import type { ActiveChannel } from './http/routes.ts';
import { createServer } from './http/server.ts';
import type { Claims } from './identity/identity.ts';
import { acceptsLogout } from './identity/logout-token.ts';
import { openSeal } from './identity/seal.ts';
import { sendEndedNotice } from './inbox/link-notices.ts';
import { InboxWorker } from './inbox/work.ts';
import type { Services } from './message/services.ts';
import { createGauges, measuredStore } from './metrics/measured-store.ts';
import { Lifecycle } from './process/lifecycle.ts';
import type { Log } from './process/log.ts';
import { answerReloads } from './reload/mailbox.ts';
import { Reloader } from './reload/reloader.ts';
import { makeRevision } from './reload/revision.ts';
import { watchFiles } from './reload/watch-files.ts';
import { LinkRenewer } from './renewal/link-renewer.ts';
import { startPresence } from './replica/presence.ts';
import { haveSameKeys, settingsDigests } from './replica/settings-digests.ts';
import { signOutAtSite } from './sealing/sign-out.ts';
import { startSealing } from './sealing/stored-tokens.ts';
import { sessionBackend } from './settings/backends.ts';
import type { Configuration } from './settings/configure/configure.ts';
import type { Settings } from './settings/settings.ts';
import type { ConfigLocation } from './settings/sources.ts';
import { startObserving } from './start-observing.ts';
import { isInContainerLayer } from './store/disk.ts';
import { openMemories, openStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { startSweeper } from './store/sweeper.ts';
import { startReaper } from './stream/run-stream.ts';
import { type AlarmClock, randomSuffix, systemClock } from './time/clock.ts';
import { settledWithin } from './time/time-limit.ts';
import { loadCompilers } from './tools/schema/compile-schema.ts';

/** The page of the sample shop, with `serve --dev`. */
const DEMO_PATH = '/demo';

/** How often the daemon of an embedded store looks for requests of `agentd reload`, ms. */
const LOOK_FOR_RELOADS_MS = 1000;
/** The same for daemons that share a store. They usually hear of a request at once. */
const LOOK_FOR_SHARED_RELOADS_MS = 5000;

/** What `serve --dev` adds to a daemon. */
interface DevParts {
  /** Names of the channels that talk to `agentd simulate` instead of their platform. */
  simulated: readonly string[];
  /** Routes of the sample shop. */
  routes: readonly Route[];
}

const NO_DEV: DevParts = { simulated: [], routes: [] };

interface StartOptions {
  /** What `serve --dev` adds. */
  dev?: DevParts | undefined;
  /** The file descriptor of a socket that the service manager holds; null to listen on HOST and PORT. */
  socket?: number | null;
  /** Where a reload looks for the settings; null if there is no reload. */
  location?: ConfigLocation | null;
}

/** A running daemon. */
export type Daemon = Awaited<ReturnType<typeof startParts>>;

/** Starts a daemon. If the start fails, the parts that were already started are stopped. */
export async function startDaemon(
  configuration: Configuration,
  log: Log,
  options: StartOptions = {},
): Promise<Daemon> {
  const life = new Lifecycle();
  try {
    return await startParts(configuration, log, life, options);
  } catch (error) {
    await life.stop(log);
    throw error;
  }
}

/** The composition root: every part is made here, in start order, and handed to the parts that use it. */
async function startParts(
  configuration: Configuration,
  log: Log,
  life: Lifecycle,
  { dev = NO_DEV, socket = null, location = null }: StartOptions,
) {
  const { settings, channels, environment } = configuration;
  const clock = systemClock;
  const grace = new Grace(settings.SHUTDOWN_GRACE_SECONDS * 1000);
  const base: Base = {
    settings,
    clock,
    log,
    life,
    ...(await startObserving(settings, log, life, () => grace.left_ms)),
  };
  const { readiness, metrics, observer } = base;

  const state = await openState(base);
  const { store, seal, memory } = state;
  const make = { ...state, clock, log, observer };
  const starting = (what: string) => readiness.starting(what);
  const revision = await makeRevision(configuration, { ...make, starting });
  for (const warning of revision.warnings) log.warn({}, warning);
  let reloader: Reloader | null = null;
  life.started('agent', () => revision.services.agent.stop?.());
  life.started('sources of tools', () => (reloader ?? revision.registry).stop());

  const stopping = new AbortController();
  const tellEnded = (link: Parameters<typeof sendEndedNotice>[1], claims: Claims) =>
    sendEndedNotice({ services, worker }, link, claims, 'link_sign_in_over');
  const renewer = LinkRenewer.of({
    settings,
    store,
    seal,
    clock,
    log,
    observer,
    tokens: { validate: (...token) => services.tokens.validate(...token) },
    tellEnded,
  });
  readiness.watch({ renewer });
  const channelNames = channels.map(({ plugin }) => plugin.name);
  const kept = { clock, log, observer, store, seal, renewer };
  const services = createServices({ ...revision.services, ...kept, channelNames, stopping: stopping.signal });
  life.started('renewal of claims', () => services.claims.stop());
  life.started('recordings', async () => void (await Promise.allSettled(services.running)));
  life.started('summaries', () => services.summaries.stop());
  metrics?.readFrom(createGauges(services));
  reloader = location && new Reloader({ location, revision, services, make, log });

  const replica = { replica_id: randomSuffix(), digests: onChange(() => services.settings, settingsDigests) };
  await joinReplicas(base, services, replica);

  const worker = new InboxWorker(services);
  const platforms = new PlatformWatch(log, environment, worker.reach);
  life.started('checks of platforms', () => platforms.stop());
  const active = createChannels(channels, ({ plugin, settings: own }) =>
    createChannel(plugin, own, { services, worker, isSimulated: dev.simulated.includes(plugin.name) }),
  );
  await startChannels(base, active, worker);
  renewer?.start();
  life.started('renewal of tokens', () => renewer?.stop());

  const shop = active.some(usesDemoPath) ? [] : dev.routes;
  const server = createServer({
    services,
    channels: active,
    ownRoutes: [
      feedbackRoute(services, listNamespaces(active)),
      ...linkRoutes({ services, worker, channels: active }),
      ...shop,
      ...active.filter(({ plugin }) => dev.simulated.includes(plugin.name)).flatMap(simulatedRoutes),
      ...(acceptsLogout(settings)
        ? [backChannelLogout(services, (claims) => signOutAtSite({ store, seal, tellEnded }, claims))]
        : []),
    ],
    findOutage: (platform) => worker.reach.health(platform),
    ...(renewer === null ? {} : { renewal: () => renewalCheck(renewer) }),
  });
  const address = await server.listen(
    socket === null ? { host: settings.HOST, port: settings.PORT } : { fd: socket },
  );
  if (socket !== null) logSocket(log, address, settings.PORT);
  life.started('listener', () => server.close());
  platforms.begin(channels);
  life.started('connections to model servers', reachModels(settings, log));
  if (reloader !== null) await answerToReloads(base, store, reloader, replica.replica_id);
  readiness.serving();
  setImmediate(loadCompilers);
  // Reads the whole store, which must not delay the start.
  const agrees = async () => haveSameKeys(replica.digests(), (await store.replicas?.list()) ?? []);
  life.started('sealing of stored texts', startSealing({ store, seal, clock, log, agrees }));

  const stopDelay =
    base.adminUrl === null ? 0 : Math.min(settings.SHUTDOWN_DELAY_SECONDS * 1000, grace.duration_ms);

  return {
    /** `http://127.0.0.1:8080` */
    url: address.url,
    /** Address of the listener for probes; null if ADMIN_LISTEN is not set. */
    adminUrl: base.adminUrl,
    channels: channelNames,
    store: store.description,
    /** Where long-term memory is kept, in a form for people. */
    memory: memory?.description ?? 'none',
    agent: runtimeName(settings),
    /** The path for messages that are answered in the response; null if no channel has one. */
    messagePath: findMessagePath(active),
    /** The page of the sample shop; null if there is none. */
    demoPath: shop.length > 0 ? DEMO_PATH : null,
    services,
    /** Null if there is no reload. */
    reloader,
    /**
     * Time during which a stopping daemon still accepts requests, ms. `/ready` already fails, so that new requests go
     * elsewhere.
     */
    stopDelay,
    /** Drains, then stops everything in reverse order. False if the grace period ended with a request unanswered. */
    async stop() {
      grace.begin();
      readiness.stopping();
      if (stopDelay > 0) {
        await delay(stopDelay);
        log.info({}, 'stopping: running requests finish, new connections are refused');
      }
      // New connections to a socket that the service manager holds wait in it for the next daemon.
      if (stopDelay > 0 || socket !== null) await server.refuseConnections();
      worker.pause();
      const answered = await server.drain(grace.left_ms);
      // A run continues even if its client has gone, so it gets the rest of the grace period.
      await settledWithin(services.running, grace.left_ms);
      stopping.abort(new Error('the daemon is stopping'));
      await Promise.allSettled(services.running);
      await life.stop(log);
      return answered;
    },
  };
}

/** The time in which a stopping daemon finishes what is running. */
class Grace {
  readonly duration_ms: number;
  #ends_at = 0;

  constructor(duration_ms: number) {
    this.duration_ms = duration_ms;
  }

  begin(): void {
    // A monotonic time: a clock that is set back would prolong the grace period.
    this.#ends_at = performance.now() + this.duration_ms;
  }

  get left_ms(): number {
    return Math.max(0, this.#ends_at - performance.now());
  }
}

/** What the start of every part needs. */
interface Base extends Awaited<ReturnType<typeof startObserving>> {
  settings: Settings;
  clock: AlarmClock;
  log: Log;
  life: Lifecycle;
}

/** Opens everything that is stored. */
async function openState({ settings, clock, log, life, readiness, metrics }: Base) {
  readiness.starting('opening the store');
  const opened = await openStore(settings, { role: 'daemon', clock, log });
  const store = metrics === null ? opened : measuredStore(opened, metrics);
  life.started('store', () => store.close());
  readiness.watch({ store });
  for (const warning of await store.advice()) log.warn({}, warning);
  if (sessionBackend(settings) === 'sqlite' && isInContainerLayer(settings.STATE_DIR))
    log.warn(
      { directory: settings.STATE_DIR },
      'STATE_DIR is in the container itself and will be deleted with it; mount a volume there',
    );
  life.started('sweeper', startSweeper(store, log));
  life.started('reaper of streams', await startReaper(store.streams, clock, log));

  const seal = await openSeal(settings, store, log);
  readiness.starting('opening long-term memory');
  const memory = await openMemory(settings, store, clock, log);
  readiness.watch({ memory });
  life.started('long-term memory', () => memory?.close());
  return { store, seal, memory };
}

interface Replica {
  replica_id: string;
  digests: () => Readonly<Record<string, string>>;
}

/** Tells the other daemons on a shared store about this one. */
async function joinReplicas({ clock, log, life }: Base, services: Services, replica: Replica): Promise<void> {
  const { replicas } = services.store;
  if (replicas === null) return;
  const presence = await startPresence({
    ...replica,
    replicas,
    clock,
    log,
    version: version(),
    agentDigest: () => services.agents.digest(),
    load: () => ({ runs: services.runs.taken, waiting: services.runs.waiting }),
  });
  life.started('presence', presence);
}

/** Starts the channels, and then the inbox, which sends through them. */
async function startChannels(
  { life, metrics, readiness }: Base,
  active: readonly ActiveChannel[],
  worker: InboxWorker,
): Promise<void> {
  for (const one of active) {
    readiness.starting(`starting the channel ${one.plugin.name}`);
    const hasInbox = one.plugin.delivery === 'push';
    if (hasInbox) worker.add(one.plugin, one.channel);
    metrics?.addChannel(one.plugin.name, hasInbox);
    life.started(`channel ${one.plugin.name}`, () => one.channel.stop?.());
    await startChannel(one);
  }
  life.started('inbox', () => worker.stop());
  readiness.starting('starting the inbox');
  await worker.start();
}

function logSocket(log: Log, { url, port }: { url: string; port: number }, expected: number): void {
  log.info({ address: url }, 'serving on the socket of the service manager');
  if (port !== expected)
    log.warn(
      { port },
      `PORT is ${expected}, but the socket of the service manager has another port: commands such as \`agentd status\` do not find the daemon`,
    );
}

/** Reloads when `agentd reload` asks for it, and when a watched file changes. */
async function answerToReloads(
  { clock, log, life }: Base,
  { reloads, replicas }: Store,
  reloader: Reloader,
  replica_id: string,
): Promise<void> {
  const look_ms = replicas === null ? LOOK_FOR_RELOADS_MS : LOOK_FOR_SHARED_RELOADS_MS;
  const reload = (cause: string) => reloader.reload(cause);
  life.started(
    'requests to reload',
    await answerReloads({ reloads, replica_id, reload, clock, log, look_ms }),
  );
  const files = () => watchedFiles(reloader.configuration);
  const changed = () => reloader.reload('AGENT_WATCH');
  life.started('watch of files', watchFiles({ files, changed, clock }));
}

/** The files of a configuration; null unless AGENT_WATCH is set. */
function watchedFiles({ settings, files }: Configuration): readonly string[] | null {
  return settings.AGENT_WATCH ? [...files.read, ...files.named] : null;
}

/** Memory that cannot be reached does not prevent the daemon from starting. */
async function openMemory(
  settings: Settings,
  store: Store,
  clock: AlarmClock,
  log: Log,
): Promise<LongTermMemory | null> {
  const memories = await openMemories(settings, store, { clock, log });
  if (memories === null) return null;
  const memory = new LongTermMemory({ memories, clock, log });
  await memory.check();
  return memory;
}

/** The namespaces of the channels for web clients. */
function listNamespaces(active: readonly { plugin: ChannelPlugin }[]): string[] {
  const ofClients = active.filter(({ plugin }) => plugin.delivery !== 'push');
  return [...new Set(ofClients.map(({ plugin: { name, capabilities } }) => capabilities.namespace ?? name))];
}

function usesDemoPath({ channel }: { channel: Channel }): boolean {
  return channel.routes.some(({ path }) => path === DEMO_PATH || path.startsWith(`${DEMO_PATH}/`));
}

function findMessagePath(active: readonly { plugin: ChannelPlugin; channel: Channel }[]): string | null {
  const direct = active.find(({ plugin }) => plugin.delivery === 'response');
  return direct?.channel.routes.find((route) => route.method === 'POST')?.path ?? null;
}
