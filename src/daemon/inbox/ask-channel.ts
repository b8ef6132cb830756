import type { Channel, ChannelPlugin } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';

/** A channel that sends its replies later. */
export interface LaterChannel {
  plugin: ChannelPlugin;
  channel: Channel & { send: NonNullable<Channel['send']> };
}

/** What a channel knows about how to reach a person; null if it fails, since the message must not fail with it. */
export function askChannel<T>(
  log: Pick<Log, 'warn'>,
  { plugin: { name }, channel }: LaterChannel,
  ask: (channel: LaterChannel['channel']) => T | null | undefined,
): T | null {
  try {
    return ask(channel) ?? null;
  } catch (err) {
    log.warn({ channel: name, err }, `the channel ${name} does not know how to reach a person`);
    return null;
  }
}
