import { defineCommand } from '../command.ts';
import { channelNames } from '../names/channel-words.ts';
import { limitOption } from '../names/list-options.ts';
import { expectChannel, usersNamed } from '../names/who.ts';
import { shownIds } from '../names/whole-id.ts';
import { WIDE_OPTION } from '../output.ts';
import { SESSION_COLUMNS, withState } from '../views/session-view.ts';
import { printStored, withStore } from '../with-store.ts';

const LIMIT = limitOption('sessions', { max: 10_000, usual: 20 });

export const command = defineCommand({
  description:
    'PERSON is the person who is signed in or, if nobody is, the user of the channel. Works whether the daemon is running or not.',
  options: {
    '--platform <name>': { sentence: 'only sessions of this channel', values: channelNames, isChannel: true },
    '--user <id>': 'only sessions that this channel user opened',
    ...LIMIT.record,
    ...WIDE_OPTION,
  },
  examples: {
    'agentd sessions list': 'Shows the 20 sessions with the latest activity.',
    'agentd sessions list --user alice --json': 'Prints the sessions of one user as a JSON array.',
  },
  json: true,
  async run({ options, out }) {
    const { platform } = options;
    const users = await usersNamed(options);
    const limit = LIMIT.read(options);
    const read = () =>
      withStore(options, async (store, settings) => {
        const among = users ?? [typeof platform === 'string' ? { platform } : {}];
        const newest = await store.sessions.list({ among, limit: limit + 1 });
        const now = Date.now();
        const ids = newest.map(({ session_id }) => session_id);
        const shown = await shownIds(store, out, 'session', ids);
        return newest.map((session) => ({
          ...withState(session, now, settings),
          short_id: shown.get(session.session_id),
        }));
      });
    const expect = () => expectChannel(options, 'platform', out);
    await printStored(out, SESSION_COLUMNS, { none: 'No session found.', limit, expect, read });
  },
});
