import type { ChannelScope } from './channel.ts';
import type { JsonObject } from './message.ts';

/** How a channel is made known to its platform (`agentd channels setup`). */
export interface ChannelSetup {
  /** Names of the channel's settings that the setup needs. The channel need not be active. */
  settings: readonly string[];
  /**
   * Registers the channel's webhook with its platform, with the scope's `fetch`, and asks the platform whether that
   * worked. If the platform has no API for this, `run` returns a document that the operator gives to the platform.
   * @param address public address of the daemon: https, perhaps with a path, without a slash at the end
   */
  run(address: string, scope: ChannelScope): Promise<SetupOutcome>;
}

/** Texts for operators, without secrets. */
export type SetupOutcome =
  /** The platform delivers to the channel from now on. `facts`: what the platform reports about the registration. */
  | { outcome: 'registered'; detail: string; facts: JsonObject }
  /** `document` is printed as it is. `detail` says what to do with it. */
  | { outcome: 'document'; detail: string; document: JsonObject }
  | { outcome: 'failed'; detail: string; advice: string };
