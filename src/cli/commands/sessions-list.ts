import { systemClock } from '../../daemon/clock.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { Command } from '../command.ts';
import { channelNames } from '../completion/channel-words.ts';
import { EXIT } from '../exit-codes.ts';
import { expectChannel } from '../expect-channel.ts';
import { wholeNumber } from '../number-option.ts';
import { sessionView } from '../session-view.ts';
import { relativeTime } from '../time-words.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'sessions list',
  summary: 'List sessions, newest activity first.',
  description: 'Works with the daemon up or down.',
  options: [
    { flags: '--platform <name>', sentence: 'only those of this channel', values: channelNames },
    { flags: '--user <id>', sentence: 'only those that this channel user opened' },
    { flags: '--limit <n>', sentence: 'how many at most, 1 to 10000', default: 20 },
  ],
  examples: [
    { line: 'agentd sessions list', does: 'Shows the 20 sessions that were active last.' },
    { line: 'agentd sessions list --user alice --json', does: 'Prints those of one user as a JSON array.' },
  ],
  json: true,
  async run({ options, out }) {
    const limit = wholeNumber('--limit', options.limit, { min: 1, max: 10_000 });
    const now = systemClock.now();
    let nowhere = '';
    const all = await withStore(options, async (store, settings) => {
      // One more than is shown tells whether there are more.
      const found = await store.sessions.list({
        limit: limit + 1,
        ...(typeof options.platform === 'string' ? { platform: options.platform } : {}),
        ...(typeof options.user === 'string' ? { user_id: options.user } : {}),
      });
      return found.map((session) => sessionView(session, now, settings));
    }).catch((error: unknown) => {
      // No daemon has stored anything yet: an empty list, not a failure.
      if (!(error instanceof StoreMissing)) throw error;
      nowhere = ` ${error.message}`;
      return [];
    });
    if (all.length === 0) await expectChannel(options, 'platform');
    const sessions = all.slice(0, limit);
    out.data(sessions, () => {
      if (sessions.length === 0) return '';
      const rows = sessions.map((session) => [
        session.session_id,
        session.platform,
        session.user_id,
        session.state,
        String(session.turns),
        out.terminal ? relativeTime(Date.parse(session.last_active_at), now) : session.last_active_at,
      ]);
      return out.table(['ID', 'CHANNEL', 'USER', 'STATE', 'TURNS', 'LAST ACTIVITY'], rows);
    });
    if (all.length > limit) out.note(`There are more than these ${limit}; --limit shows more.`);
    if (sessions.length === 0) out.note(`No session found.${nowhere}`);
    return EXIT.ok;
  },
};
