import { isAbsentOr, isFunction, type Refusal, type Row, unfit, unfitting } from './fit.ts';
import type { ChannelPlugin } from './index.ts';
import { isObject } from './json-object.ts';
import { BODY_LIMIT_MAX, type Route } from './route.ts';
import { hasOwnConnection } from './simulator.ts';

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE'] satisfies readonly Route['method'][];
const OPTIONAL_MEMBERS = [
  'start',
  'send',
  'receive',
  'typing',
  'closeQuestion',
  'codeUrl',
  'privateChat',
  'privateSession',
  'chatUrl',
  'health',
  'check',
  'checkRegistration',
  'stop',
] as const;
/**
 * A path whose segments are plain characters or a parameter. Characters that the router reads as a pattern (`*`,
 * parentheses) are not allowed.
 */
const PATH = /^(?:\/(?::[A-Za-z_]\w*|[\w.~!$&'+,;=@%-]*))+$/;

/** Checks that the result of `create` has the shape of a channel (channel.ts). Runs none of its code. */
export function checkChannel(plugin: ChannelPlugin, channel: unknown): Refusal[] {
  if (!isObject(channel)) return [unfit('the result of `create`', 'a channel (an object)', channel)];
  const { delivery } = plugin;
  const refusals = unfitting([
    ...OPTIONAL_MEMBERS.map(
      (name): Row => [
        isAbsentOr(isFunction, channel[name]),
        `\`${name}\``,
        'a function, or absent',
        channel[name],
      ],
    ),
    [
      delivery !== 'push' || channel.send !== undefined,
      '`send`',
      "a function, since `delivery` is 'push'",
      channel.send,
    ],
    [
      !hasOwnConnection(plugin) || channel.receive !== undefined,
      '`receive`',
      'a function, since `capabilities.webhook` is false',
      channel.receive,
    ],
  ]);
  const { routes } = channel;
  if (!Array.isArray(routes)) return [...refusals, unfit('`routes`', 'a list of routes', routes)];
  return [...refusals, ...routes.flatMap((route, index) => routeRefusals(route, `\`routes[${index}]`))];
}

function routeRefusals(route: unknown, at: string): Refusal[] {
  if (!isObject(route)) return [unfit(`${at}\``, 'a route', route)];
  const { method, path, contentType, body, bodyLimit, token, refusal, headers, thread, handle } = route;
  const isText = (value: unknown) => typeof value === 'string';
  const isPath = typeof path === 'string' && PATH.test(path);
  const rows: readonly Row[] = [
    [METHODS.includes(method as string), 'method', `one of ${METHODS.join(', ')}`, method],
    [isPath, 'path', 'a path that begins with `/`, such as /telex/webhook or /telex/:id', path],
    [isAbsentOr(isText, contentType), 'contentType', 'a media type, or absent', contentType],
    [body === undefined || body === 'multipart', 'body', "'multipart', or absent", body],
    [
      body === undefined || contentType === undefined,
      'contentType',
      'absent, since `body` says it',
      contentType,
    ],
    [
      isAbsentOr(isBodyLimit, bodyLimit),
      'bodyLimit',
      `a whole number of bytes from 1 to ${BODY_LIMIT_MAX}, or absent`,
      bodyLimit,
    ],
    ...Object.entries({ token, refusal, headers, thread }).map(
      ([name, value]): Row => [isAbsentOr(isFunction, value), name, 'a function, or absent', value],
    ),
    [isFunction(handle), 'handle', 'a function', handle],
  ];
  return unfitting(rows.map(([fits, member, ...rest]) => [fits, `${at}.${member}\``, ...rest]));
}

function isBodyLimit(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= BODY_LIMIT_MAX;
}
