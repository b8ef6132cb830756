import { EXAMPLE } from '../../../plugins/names.ts';
import { systemClock } from '../../daemon/clock.ts';
import { openAdministratorSeal } from '../../daemon/identity/open-seal.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { Command } from '../command.ts';
import { channelNames } from '../completion/channel-words.ts';
import { EXIT } from '../exit-codes.ts';
import { expectChannel } from '../expect-channel.ts';
import { LINK_HEAD, linkRow, linkView } from '../link-view.ts';
import { wholeNumber } from '../number-option.ts';
import { relativeTime } from '../time-words.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'link list',
  summary: 'List who is linked to which person, and until when.',
  description:
    'A link is live while both it and the token in it are: a link ends after 30 days, a token mostly sooner; then messages go under the default credentials, and the person is told once. One that no encryption key opens counts as none. Sorted by channel and user. Tokens are never shown. Works with the daemon up or down.',
  options: [
    { flags: '--platform <name>', sentence: 'only those of this channel', values: channelNames },
    { flags: '--limit <n>', sentence: 'how many at most, 1 to 100000', default: 1000 },
  ],
  examples: [
    { line: 'agentd link list', does: 'Shows all links.' },
    {
      line: `agentd link list --platform ${EXAMPLE.channel} --json`,
      does: 'Prints those of one channel as a JSON array.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const limit = wholeNumber('--limit', options.limit, { min: 1, max: 100_000 });
    const now = systemClock.now();
    let nowhere = '';
    const links = await withStore(
      options,
      async (store, settings) => {
        const { seal } = await openAdministratorSeal(settings);
        const platform = typeof options.platform === 'string' ? { platform: options.platform } : {};
        // One more than is shown tells whether there are more.
        const found = await store.links.list({ ...platform, limit: limit + 1 });
        return found.map((link) => linkView(link, now, seal, settings));
      },
      'links',
    ).catch((error: unknown) => {
      // No daemon has stored anything yet: an empty list, not a failure.
      if (!(error instanceof StoreMissing)) throw error;
      nowhere = ` ${error.message}`;
      return [];
    });
    if (links.length === 0) await expectChannel(options, 'platform');
    const shown = links.slice(0, limit);
    out.data(shown, () => {
      if (shown.length === 0) return '';
      const time = (at: string) => (out.terminal ? relativeTime(Date.parse(at), now) : at);
      return out.table(
        LINK_HEAD,
        shown.map((link) => linkRow(link, time)),
      );
    });
    if (links.length > limit) out.note(`There are more than these ${limit}; --limit shows more.`);
    if (shown.length === 0) out.note(`No link found.${nowhere}`);
    return EXIT.ok;
  },
};
