import { hash, timingSafeEqual } from 'node:crypto';
import type { ChannelHealth, Route } from '../../channel/index.ts';
import type { LongTermMemory } from '../agent/long-term-memory.ts';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { LinkRenewer } from '../renewal/link-renewer.ts';
import type { ListenAddress } from '../settings/addresses.ts';
import type { Secret } from '../settings/secret.ts';
import type { Store } from '../store/store.ts';
import { cors } from './cors.ts';
import { App } from './exchange.ts';
import { createListener, InFlight, listen, requireHost, stopListening } from './listener.ts';
import { problems, securityHeaders } from './problem.ts';
import { ReceivedRequest } from './received-request.ts';
import { requestId } from './request-id.ts';
import { respond } from './respond.ts';
import { createRouter, findRoute, resolveRoute } from './routes.ts';

/** Seconds after which a probe may ask again whether the daemon is ready. */
const RETRY_AFTER_SECONDS = 1;
const NO_BODY = new Uint8Array();

/**
 * The listener of ADMIN_LISTEN, which is separate from the public one. It answers probes of an orchestrator or load
 * balancer: `/live` as long as the process runs, `/ready` as long as the daemon should get requests. It also serves
 * `/metrics`.
 */
export function createAdminServer(
  readiness: Readiness,
  metrics: Route,
  { log, keepAliveSeconds }: { log: Log; keepAliveSeconds: number },
) {
  const inFlight = new InFlight();
  const app = new App();
  app.use(requestId(log, 0));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(
    findRoute(
      createRouter([...probeRoutes(readiness), metrics].map((route) => ({ ...route, channel: null }))),
    ),
  );
  app.use(cors([], log));
  app.use(async (ctx) => {
    inFlight.add(ctx.res);
    const route = resolveRoute(ctx.state.found, ctx.method);
    const response = await route.handle(new ReceivedRequest(ctx, NO_BODY));
    respond(ctx, response, { stopping: AbortSignal.abort(), log });
  });
  const server = createListener(app, inFlight, log, { keepAliveSeconds });
  return {
    /** Rejects with the system's error if it cannot listen. */
    listen: (address: ListenAddress) => listen(server, { ...address, setting: 'ADMIN_LISTEN' }, log),
    async close() {
      const closed = stopListening(server);
      server.closeAllConnections();
      await closed;
    },
  };
}

function probeRoutes(readiness: Readiness): Route[] {
  return [
    { method: 'GET', path: '/live', handle: () => ({ body: { status: 'ok' } }) },
    {
      method: 'GET',
      path: '/ready',
      handle() {
        const { status, reason, checks } = readiness.report();
        if (reason === null) return { body: { status, checks } };
        throw new AgentdError('unavailable', reason, {
          retryAfter: RETRY_AFTER_SECONDS,
          members: { checks },
        });
      },
    },
  ];
}

interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/**
 * `GET /metrics` of the admin listener.
 * @param token ADMIN_TOKEN, required as the bearer token; undefined if no token is required
 */
export function metricsRoute(metrics: MetricsPage, token: Secret | undefined): Route {
  return {
    method: 'GET',
    path: '/metrics',
    async handle({ headers }) {
      if (token !== undefined && !isBearer(headers.authorization, token))
        throw new AgentdError('token_missing', 'The metrics need ADMIN_TOKEN as the bearer token.');
      return { headers: { 'Content-Type': metrics.contentType }, body: await metrics.text() };
    },
  };
}

/** Compares hashes, so that the time of the comparison reveals nothing about the token. */
function isBearer(authorization: unknown, token: Secret): boolean {
  if (typeof authorization !== 'string') return false;
  return timingSafeEqual(
    digest(authorization.replace(/^bearer +/i, 'Bearer ')),
    digest(`Bearer ${token.reveal()}`),
  );
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

type WatchedStore = Pick<Store, 'condition' | 'check' | 'replicas'>;
/** Long-term memory, without which messages are still answered. */
type WatchedMemory = Pick<LongTermMemory, 'isAvailable' | 'check'>;

/** The renewal of the tokens of links, without which messages are still answered. */
type WatchedRenewer = Pick<LinkRenewer, 'refusal'>;

/** The result of one check of `/ready`. */
type Check = { status: 'ok' } | { status: 'failed' | 'degraded'; detail: string };

interface ReadinessReport {
  /** `degraded`: the daemon should get requests, but answers some of them with 503. */
  status: 'ok' | 'degraded' | 'failed';
  /** Why the daemon should get no requests now; null if it should get requests. */
  reason: string | null;
  checks: Readonly<Record<string, Check>>;
}

/** How often probes cause a test write to the store and a test of long-term memory, ms. */
const CHECK_INTERVAL_MS = 1000;

/** What else than the process is tested. Memory and renewal are absent, or null, if they are not used. */
interface Watched {
  store?: WatchedStore;
  memory?: WatchedMemory | null;
  renewer?: WatchedRenewer | null;
}

/** Whether this process should get requests, as `/ready` says. It is not ready while it starts and while it stops. */
export class Readiness {
  #daemon: Check = isStarting('reading the configuration');
  readonly #watched: Watched = {};
  /** Time of the last tests, ms of the monotonic clock. */
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param step the step that begins now, as in "The daemon is starting: {step}." */
  starting(step: string): void {
    this.#daemon = isStarting(step);
  }

  watch(parts: Watched): void {
    Object.assign(this.#watched, parts);
  }

  serving(): void {
    this.#daemon = { status: 'ok' };
  }

  stopping(): void {
    this.#daemon = { status: 'failed', detail: 'The daemon is stopping.' };
  }

  report(): ReadinessReport {
    const { store, memory, renewer } = this.#watched;
    const checks: Record<string, Check> = { daemon: this.#daemon };
    if (store) checks.store = storeCheck(store);
    if (memory) checks.memory = memoryCheck(memory);
    if (renewer) checks.renewal = renewalCheck(renewer);
    this.#checkAgain();
    const failed = Object.values(checks).find(hasFailed);
    if (failed) return { status: 'failed', reason: failed.detail, checks };
    const isDegraded = Object.values(checks).some((check) => check.status === 'degraded');
    return { status: isDegraded ? 'degraded' : 'ok', reason: null, checks };
  }

  /** Tests both in the background, so that the next probe knows the state of a store that was not used recently. */
  #checkAgain(): void {
    const now = performance.now();
    const { store, memory } = this.#watched;
    if (store === undefined || now - this.#checkedAt < CHECK_INTERVAL_MS) return;
    this.#checkedAt = now;
    // The store's condition reports the failure.
    store.check().catch(() => undefined);
    void memory?.check();
  }
}

function isStarting(step: string): Check {
  return { status: 'failed', detail: `The daemon is starting: ${step}.` };
}

function hasFailed(check: Check): check is Exclude<Check, { status: 'ok' }> {
  return check.status === 'failed';
}

function memoryCheck({ isAvailable }: WatchedMemory): Check {
  if (isAvailable) return { status: 'ok' };
  return {
    status: 'degraded',
    detail: 'Long-term memory cannot be reached; messages are answered without it.',
  };
}

/** Whether the issuer accepts this service as a client. */
export function renewalCheck({ refusal }: WatchedRenewer): ChannelHealth {
  if (refusal === null) return { status: 'ok' };
  const detail = `TOKEN_RENEWAL_URL refuses this service as a client (${refusal.reason}); links last only as long as their tokens.`;
  return { status: 'degraded', detail };
}

/**
 * If a shared store cannot be written, no daemon can write it. The check is then only `degraded`, because a load
 * balancer would drop all daemons if it failed.
 */
function storeCheck(store: WatchedStore): Check {
  const { writable, detail } = store.condition();
  if (writable) return { status: 'ok' };
  const status = store.replicas === null ? 'failed' : 'degraded';
  return { status, detail: detail ?? 'The store cannot be written.' };
}
