import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import type { ChannelPlugin } from '../../src/channel/index.ts';

/** The channels of chat platforms. `personOf` makes a user id from a number, as the platform writes it. */
export const PLATFORMS: readonly { plugin: ChannelPlugin; personOf(number: number): string }[] = [
  { plugin: teamchat, personOf: (number) => `U${String(number).padStart(8, '0')}` },
  { plugin: phonechat, personOf: (number) => `+1555${String(2_000_000 + number)}` },
  { plugin: msgbot, personOf: (number) => String(700_000_000 + number) },
];
