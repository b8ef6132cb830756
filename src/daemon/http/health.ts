import type { Channel, ChannelHealth, Route } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';
import type { ActiveChannel, OutageOf } from './routes.ts';

/**
 * `GET /`: the active platforms and their state (agentd-service(7), "GET /"). `status` says only that the process is
 * serving. Nothing outside of the process is asked, so the answer does not change if the store is unreachable.
 */
export function health(channels: readonly ActiveChannel[], outageOf: OutageOf, log: Log): Route['handle'] {
  return () => ({
    body: {
      status: 'ok',
      platforms: channels.map(({ plugin }) => plugin.name),
      adapters: Object.fromEntries(
        channels.map(({ plugin: { name }, channel }) => {
          const own = healthOf(name, channel, log);
          // The channel's own report is more specific.
          return [name, own.status === 'ok' ? (outageOf(name) ?? own) : own];
        }),
      ),
    },
  });
}

function healthOf(name: string, channel: Channel, log: Log): ChannelHealth {
  try {
    return documented(channel.health?.() ?? { status: 'ok' });
  } catch (error) {
    log.warn({ channel: name, err: error }, 'a channel could not report its health');
    return { status: 'degraded', detail: 'The channel could not report its health.' };
  }
}

/**
 * The documented members of a report. A plugin without types may return anything.
 * @throws TypeError for an unknown status
 */
function documented({ status, detail }: { status: unknown; detail?: unknown }): ChannelHealth {
  if (status === 'ok') return { status };
  if (status !== 'degraded') throw new TypeError(`\`health\` returned the status ${String(status)}`);
  return { status, detail: typeof detail === 'string' ? detail : 'The channel gives no reason.' };
}
