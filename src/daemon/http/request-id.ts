import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { Log } from '../process/log.ts';
import { shortId } from '../session/session.ts';
import { percentDecoded } from '../syntax/percent.ts';
import { timeOrderedId } from '../time/clock.ts';
import { type Context, type Middleware, ResponseHead } from './exchange.ts';

const CALLERS_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Longest path that a log line shows, in characters. */
const PATH_SHOWN = 256;
/** How much of a path is searched for ids. An id gets shorter, so what follows it may come into view. */
const PATH_SEARCHED = 4 * PATH_SHOWN;

/**
 * The caller's `X-Request-Id` if it has the documented form, otherwise a new id (agentd-service(7), "Request ids").
 */
export function chooseRequestId(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && CALLERS_ID.test(given) ? given : timeOrderedId(Date.now());
}

/**
 * Adds the request id to the response. When the request has ended, logs one line with the id and the client's address.
 * @param trustProxy TRUST_PROXY
 */
export function requestId(log: Log, trustProxy: number): Middleware {
  return (ctx, next) => {
    const started = performance.now();
    ctx.state.request_id = chooseRequestId(ctx.req.headers);
    ctx.state.address = readAddress(ctx.req, trustProxy);
    ctx.state.path = ctx.url.split('?', 1)[0] ?? '';
    ctx.state.head = new ResponseHead(ctx.res);
    ctx.state.head.set('X-Request-Id', ctx.state.request_id);
    ctx.res.on('close', () => logEnd(ctx, log, performance.now() - started));
    return next();
  };
}

function readAddress({ socket, headers }: IncomingMessage, trustProxy: number): string {
  return clientAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString(), trustProxy);
}

/** Logs neither the query nor header values: both may contain a token. */
function logEnd(ctx: Context, log: Log, took: number): void {
  const answered = ctx.res.writableFinished;
  // The code that handles a request logs its success; for example, each message gets a separate line.
  const level = answered && ctx.res.statusCode >= 400 ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const line = {
    request_id: ctx.state.request_id,
    address: ctx.state.address,
    method: ctx.method,
    // The router decodes the path, so an id in it counts in any encoding.
    path: shortId(percentDecoded(ctx.state.path).slice(0, PATH_SEARCHED)).slice(0, PATH_SHOWN),
    status: ctx.res.statusCode,
    ...(ctx.state.problem === undefined ? {} : { code: ctx.state.problem }),
    took_ms: Math.round(took * 10) / 10,
  };
  log[level](line, answered ? 'request' : 'the connection closed before the response was complete');
}

/**
 * The address that limits are counted for: an IPv4 address, or the /64 network of an IPv6 address, since a client can
 * use any address in its network (agentd-service(7), "Rate limit").
 *
 * Every trusted proxy appends the address that called it, so the client is the entry at position `hops` from the right.
 * Entries to the left of it may be forged. An entry that is not an address ends the search: entries to the left of it
 * were not written by a trusted proxy.
 * @param socket address of the other end; undefined after it has disconnected
 * @param forwarded `X-Forwarded-For`, repeated headers joined
 * @param hops TRUST_PROXY
 */
export function clientAddress(
  socket: string | undefined,
  forwarded: string | undefined,
  hops: number,
): string {
  let nearest = toNetwork(socket ?? '') ?? 'unknown';
  if (hops === 0 || forwarded === undefined) return nearest;
  const entries = forwarded.split(',');
  for (const entry of entries.reverse().slice(0, hops)) {
    const address = toNetwork(withoutPort(entry.trim()));
    if (address === null) return nearest;
    nearest = address;
  }
  return nearest;
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`, as some proxies write them. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

/** The address, or the /64 network of an IPv6 address. Null if the text is not an address. */
function toNetwork(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return null;
  const groups = splitGroups(text);
  const isMapped = groups.slice(0, 6).join() === '0,0,0,0,0,ffff';
  return isMapped ? toIpv4(groups) : `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address, as a URL writes them. */
function splitGroups(address: string): string[] {
  const { hostname } = new URL(`http://[${address.split('%', 1)[0]}]`);
  const [left = [], right] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  if (right === undefined) return left;
  return [...left, ...new Array<string>(8 - left.length - right.length).fill('0'), ...right];
}

/** The last 32 bits of an IPv4-mapped address. */
function toIpv4(groups: readonly string[]): string {
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Warns once per start if `X-Forwarded-For` arrives while no proxy is trusted. All clients of a proxy would share the
 * limits of its address.
 */
export function warnOfForwarded(trustProxy: number, log: Log): Middleware {
  let warned = trustProxy > 0;
  return (ctx, next) => {
    if (!warned && ctx.req.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(
        { request_id: ctx.state.request_id, address: ctx.state.address },
        'X-Forwarded-For arrived, but TRUST_PROXY is 0, so the header is ignored: all clients of a proxy share the limits of its address; set TRUST_PROXY to the number of proxies in front of the daemon',
      );
    }
    return next();
  };
}
