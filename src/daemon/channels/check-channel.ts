import type { Channel, ChannelPlugin, ChannelSettings, Route } from '../../channel/index.ts';
import { isObject } from '../../channel/json-object.ts';
import { hasOwnConnection } from '../../channel/simulator.ts';
import { WEBHOOK_MAX } from '../http/body.ts';
import type { ActiveChannel } from '../http/routes.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeThrown } from '../syntax/source-location.ts';
import { isAbsentOr, isFunction, type Refusal, type Row, unfit, unfitting } from './modules/import-module.ts';

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
/**
 * The routes that the daemon itself answers (agentd-service(7)), without the names of their parameters. Routes that the
 * settings turn off are reserved all the same, so that a setting never takes the path of a channel.
 */
const OWN_ROUTES = [
  'GET /',
  'POST /feedback',
  'POST /link/codes',
  'GET /link/codes/:',
  'DELETE /link/codes/:',
  'POST /link/codes/:/confirm',
  'GET /links',
  'DELETE /links/:',
  'POST /backchannel-logout',
];

/** Checks that the result of `create` has the shape of a channel (src/channel/channel.ts). Runs none of its code. */
export function channelProblems(plugin: ChannelPlugin, channel: unknown): SettingProblem[] {
  return channelRefusals(plugin, channel).map((refusal) => toProblem(plugin, refusal));
}

/**
 * Checks that no two routes of the active channels have the same method and path, and that no route is one of the daemon's own.
 * Reports every conflict.
 */
export function routeProblems(
  active: readonly { plugin: ChannelPlugin; channel: Channel }[],
): SettingProblem[] {
  const problems: SettingProblem[] = [];
  const takenBy = new Map(OWN_ROUTES.map((route) => [route, 'the daemon itself']));
  for (const { plugin, channel } of active) {
    for (const { method, path } of channel.routes) {
      const key = `${method} ${path.replace(/:\w+/g, ':')}`;
      const owner = takenBy.get(key);
      if (owner === undefined) takenBy.set(key, `the channel ${plugin.name}`);
      else {
        const problem = `the route ${method} ${path} is taken by ${owner}`;
        problems.push(toProblem(plugin, { problem, right: 'another path' }));
      }
    }
  }
  return problems;
}

/** The refusal of an object from a plugin, as a problem of the plugin's channel. */
function toProblem({ name }: ChannelPlugin, refusal: Refusal): SettingProblem {
  return { setting: `channel ${name}`, value: null, source: null, ...refusal };
}

function channelRefusals(plugin: ChannelPlugin, channel: unknown): Refusal[] {
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
      `a whole number of bytes from 1 to ${WEBHOOK_MAX}, or absent`,
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
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= WEBHOOK_MAX;
}

interface Configured {
  plugin: ChannelPlugin;
  settings: ChannelSettings;
}

/**
 * Creates the active channels, each with its own scope (src/channel/channel.ts, "given its settings and scope"). The
 * code of plugins runs here. Errors that it throws are reported together with all other problems, for all channels at
 * once.
 * @throws ConfigurationError
 */
export function createChannels(
  configured: readonly Configured[],
  create: (configured: Configured) => Channel,
): ActiveChannel[] {
  const active: ActiveChannel[] = [];
  const problems: SettingProblem[] = [];
  for (const one of configured) {
    const { plugin } = one;
    try {
      const channel = create(one);
      const misshapen = channelProblems(plugin, channel);
      problems.push(...misshapen);
      if (misshapen.length === 0) active.push({ plugin, channel });
    } catch (error) {
      const right = 'a function that only creates the channel; code that can fail belongs in `start`';
      problems.push(toProblem(plugin, { problem: `\`create\` threw: ${describeThrown(error)}`, right }));
    }
  }
  problems.push(...routeProblems(active));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return active;
}

/** A channel did not start, because something that it needs cannot be reached or has refused it. Exit code 69. */
class ChannelStartFailed extends Error {
  constructor(channel: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the channel ${channel} did not start: ${why}`, { cause });
    this.name = 'ChannelStartFailed';
  }
}

/** Starts a channel that has something to start. @throws ChannelStartFailed */
export async function startChannel({ plugin, channel }: ActiveChannel): Promise<void> {
  try {
    await channel.start?.();
  } catch (error) {
    throw new ChannelStartFailed(plugin.name, error);
  }
}
