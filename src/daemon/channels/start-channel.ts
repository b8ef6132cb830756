import type { ActiveChannel } from '../http/routes.ts';

/** A channel did not start, because something that it needs cannot be reached or has refused it. Exit code 69. */
export class ChannelStartFailed extends Error {
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
