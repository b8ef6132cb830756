import { EXAMPLE } from '../../../plugins/names.ts';
import { defineCommand } from '../command.ts';
import { channelNames } from '../names/channel-words.ts';
import { limitOption } from '../names/list-options.ts';
import { expectChannel } from '../names/who.ts';
import { WIDE_OPTION } from '../output.ts';
import { LINK_LIST_COLUMNS, linkListView } from '../views/link-view.ts';
import { printStored, withSealedStore } from '../with-store.ts';

const LIMIT = limitOption('links', { max: 100_000, usual: 1000 });

export const command = defineCommand({
  description:
    'A link is live until it or its token expires. A link lasts 30 days; most tokens expire earlier. After that, messages use the default credentials. If the token has expired, the agent tells the person once. A link is ignored if no encryption key can decrypt its token. EXPIRES is the earlier of the two times; `--wide` shows both. MADE WITH is how the link was made: with the person’s token, with a link code, or by an operator. The list is sorted by channel and user. Tokens are never shown. Works whether the daemon is running or not.',
  options: {
    '--platform <name>': { sentence: 'only links of this channel', values: channelNames, isChannel: true },
    ...LIMIT.record,
    ...WIDE_OPTION,
  },
  examples: {
    'agentd link list': 'Shows all links.',
    [`agentd link list --platform ${EXAMPLE.channel} --json`]:
      'Prints the links of one channel as a JSON array.',
  },
  json: true,
  async run({ options, out }) {
    const limit = LIMIT.read(options);
    const read = () =>
      withSealedStore(options, async (store, seal, settings) => {
        const platform = options.platform === undefined ? {} : { platform: options.platform };
        const found = await store.links.list({ ...platform, limit: limit + 1 });
        const now = Date.now();
        return Promise.all(found.map((link) => linkListView(store, link, now, seal, settings)));
      });
    const expect = () => expectChannel(options, 'platform');
    await printStored(out, LINK_LIST_COLUMNS, { none: 'No link found.', limit, expect, read });
  },
});
