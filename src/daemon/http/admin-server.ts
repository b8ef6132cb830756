import { createHash, timingSafeEqual } from 'node:crypto';
import Koa from 'koa';
import type { Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { ListenAddress } from '../settings/addresses.ts';
import type { Secret } from '../settings/secret.ts';
import type { Exchange } from './exchange.ts';
import { InFlight } from './in-flight.ts';
import { answerBrokenRequests, createListener, listen, requireHost, stopListening } from './listener.ts';
import { problems, securityHeaders } from './problem.ts';
import type { Readiness } from './readiness.ts';
import { ReceivedRequest } from './received-request.ts';
import { requestId } from './request-id.ts';
import { respond } from './respond.ts';
import { createRouter, findRoute, routeOf } from './routes.ts';

/** Seconds after which a probe may ask again whether the daemon is ready. */
const RETRY_AFTER_SECONDS = 1;
/** Probes have no body. */
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
  const app = new Koa<Exchange>();
  app.use(requestId(log, 0));
  app.use(problems(log));
  app.use(securityHeaders());
  app.use(requireHost());
  app.use(
    findRoute(
      createRouter([...probeRoutes(readiness), metrics].map((route) => ({ ...route, channel: null }))),
    ),
  );
  app.use(async (ctx) => {
    inFlight.add(ctx.res);
    const route = routeOf(ctx.state.found, ctx.method);
    const response = await route.handle(new ReceivedRequest(ctx, NO_BODY));
    respond(ctx, response, { stopping: AbortSignal.abort(), log });
  });
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection error'));
  const server = createListener(app, log, { keepAliveSeconds });
  answerBrokenRequests(server, inFlight, log);
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
  return createHash('sha256').update(text).digest();
}
