import { unlinkUser } from '../../daemon/admin/records.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { listSpellings, noteAudit } from '../../daemon/admin/who.ts';
import { failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { invalidId, LINK_ARGUMENTS, linkableChannel, USER_WILL_BE_TOLD } from '../names/channel-words.ts';
import { withSealedStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'From the next message on, messages of this user use the default credentials. An action that the user was asked to confirm stays pending, but the user must sign in to answer. The link is removed for all spellings of the id. If the user has a second id that is bound to the link, you can give that id instead. Exit code 1 if there is no link.\n\nThe user is told in the chat, by a running daemon within seconds or by the next one that starts within a day, unless the channel cannot write to users first. The text does not name the person.',
  args: LINK_ARGUMENTS,
  examples: { 'agentd link remove phone +15550100123': 'Removes the link of one number.' },
  json: true,
  async run({ args: [word = '', user = ''], options, out }) {
    const channel = await linkableChannel(options, word);
    const writings = listSpellings(channel, user);
    const [user_id = user] = writings;
    const isRemoved = await withSealedStore(options, async (store, seal) => {
      const who = { platform: channel.name, user_id };
      await noteAudit(store, { command: 'link remove', about: channel.name, who });
      return unlinkUser({ store, seal }, channel, user);
    });
    const whose = `${printable(user_id)} of ${channelInWords(channel.name)}`;
    // Ids that the channel does not recognize are tried first: a second id of a user is one of them.
    if (!isRemoved && writings.length === 0) throw invalidId(channel, user);
    if (!isRemoved) throw failed(`there is no link of ${whose}`, 'List all links with `agentd link list`.');
    const result = { platform: channel.name, user_id, removed: true, notifies_user: true };
    out.data(result, () => `removed the link of ${whose}; ${USER_WILL_BE_TOLD}`);
  },
});
