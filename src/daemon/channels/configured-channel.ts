import type { ChannelSettings } from '../../channel/index.ts';
import type { LoadedPlugin } from './load.ts';

/** An active channel, with the values of its settings. */
export interface ConfiguredChannel extends LoadedPlugin {
  settings: ChannelSettings;
}
