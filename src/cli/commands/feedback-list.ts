import { EXAMPLE } from '../../../plugins/names.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { channelNames } from '../names/channel-words.ts';
import { limitOption, sinceIn, sinceOption } from '../names/list-options.ts';
import { expectChannel } from '../names/who.ts';
import { shownIds } from '../names/whole-id.ts';
import { WIDE_OPTION } from '../output.ts';
import { FEEDBACK_COLUMNS, feedbackView } from '../views/feedback-view.ts';
import { namesIn } from '../views/session-view.ts';
import { printStored, withStore } from '../with-store.ts';

const RATINGS = { good: 1, bad: -1, '1': 1, '-1': -1 } as const;

const LIMIT = limitOption('ratings', { max: 10_000, usual: 100 });

export const command = defineCommand({
  description:
    'Lists ratings of answers, newest first. People rate in the widget, with a reaction on their platform, or through `POST /feedback`. An answer has one rating, the newest. A rating is kept as long as the trace of its message (TRACE_RETENTION_DAYS). The list says whether there is a comment; `agentd feedback show` prints it. Works whether the daemon is running or not.',
  options: {
    '--rating <rating>': { sentence: 'only these ratings: good or bad', values: ['good', 'bad'] },
    '--platform <name>': { sentence: 'only answers on this channel', values: channelNames, isChannel: true },
    ...sinceOption('only newer ratings'),
    ...LIMIT.record,
    ...WIDE_OPTION,
  },
  examples: {
    'agentd feedback list --rating bad --since 7d':
      'Shows the answers of the last week that people disliked.',
    [`agentd feedback list --platform ${EXAMPLE.channel} --json`]:
      'Prints the ratings on one channel as a JSON array.',
  },
  json: true,
  async run({ options, out }) {
    const limit = LIMIT.read(options);
    const { platform } = options;
    const filter = {
      ...sinceIn(options),
      ...(typeof platform === 'string' ? { platform } : {}),
      ...(options.rating === undefined ? {} : { rating: parseRating(options.rating) }),
    };
    await printStored(out, FEEDBACK_COLUMNS, {
      none: 'No rating found.',
      limit,
      expect: () => expectChannel(options, 'platform', out),
      read: () =>
        withStore(options, async (store) => {
          const found = await store.feedback.list({ ...filter, limit: limit + 1 });
          const ids = found.map(({ turn_id }) => turn_id);
          const shown = await shownIds(store, out, 'feedback', ids);
          const findName = await namesIn(
            store,
            found.map(({ session_id }) => session_id),
          );
          return found.map((one) => ({
            ...feedbackView(one, null),
            short_id: shown.get(one.turn_id),
            name: findName(one.person),
          }));
        }),
    });
  },
});

/** @throws CliError (2) */
function parseRating(given: string): 1 | -1 {
  if (given in RATINGS) return RATINGS[given as keyof typeof RATINGS];
  throw usageError(`--rating takes good or bad, not '${given}'`);
}
