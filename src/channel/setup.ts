import type { ChannelScope } from './channel.ts';
import type { JsonObject } from './message.ts';

/** How a channel is made known to its platform (`agentd channels setup`). */
export interface ChannelSetup {
  /** Names of the channel's settings that it needs. The channel need not be active. */
  settings: readonly string[];
  /**
   * Registers the channel's webhook with its platform, with the scope's `fetch`, and asks the platform whether it did.
   * A platform that cannot be told so gets a document, which the operator gives to it.
   * @param address public address of the daemon: https, perhaps with a path, without a slash at the end
   */
  run(address: string, scope: ChannelScope): Promise<SetupOutcome>;
}

/** Words for operators, without secrets. */
export type SetupOutcome =
  /** The platform delivers to the channel from now on. `facts`: what it says of the registration. */
  | { outcome: 'registered'; detail: string; facts: JsonObject }
  /** `document` is printed as it is. `detail` says what to do with it. */
  | { outcome: 'document'; detail: string; document: JsonObject }
  | { outcome: 'failed'; detail: string; advice: string };
