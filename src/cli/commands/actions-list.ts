import { EXAMPLE } from '../../../plugins/names.ts';
import { sessionTag } from '../../daemon/admin/records.ts';
import { defineCommand } from '../command.ts';
import { limitOption, sinceIn, sinceOption } from '../names/list-options.ts';
import { expectKnownUser, readOneWho, WHO_ARGUMENT, WHO_OPTIONS } from '../names/who.ts';
import { shownIds, wholeSessionId } from '../names/whole-id.ts';
import { WIDE_OPTION } from '../output.ts';
import { ACTION_COLUMNS, actionView, findRequests } from '../views/action-view.ts';
import { namesIn } from '../views/session-view.ts';
import { printStored, withSealedStore } from '../with-store.ts';

const LIMIT = limitOption('actions', { max: 10_000, usual: 100 });

export const command = defineCommand({
  description:
    'Lists the journal of writes, newest first. The outcome is `done`, `failed` (the write was refused, or nothing was sent), `unknown` (it was sent, but it is not known whether it was carried out) or `started` (it has no outcome yet). A write of `agentd tools call` names the operator. To see why a write was made, pass its SESSION to `agentd explain`, or its `request_id`, which only `--json` prints. The `request_id` is null if the trace is gone. Writes are kept for ACTIONS_RETENTION_DAYS. Works whether the daemon is running or not.',
  args: { ...WHO_ARGUMENT },
  options: {
    ...WHO_OPTIONS,
    '--session <id>': 'only actions of this session',
    ...sinceOption('only later actions'),
    ...LIMIT.record,
    ...WIDE_OPTION,
  },
  examples: {
    'agentd actions list --since 2h': 'Shows what was done in the last two hours.',
    'agentd actions list --sub 42': 'Shows what was done for one person.',
    [`agentd actions list ${EXAMPLE.channel}:${EXAMPLE.user} --json`]:
      "Prints what was done for a platform's user as a JSON array.",
  },
  json: true,
  async run({ args, options, out }) {
    const limit = LIMIT.read(options);
    const now = Date.now();
    const since = sinceIn(options, now);
    const who = await readOneWho(args, options);
    const read = () =>
      withSealedStore(options, async (store, seal) => {
        const { session: given } = options;
        const id = typeof given === 'string' ? await wholeSessionId(store, given, options) : null;
        // Sign-in changes the id of a session, but never its tag.
        const session = id === null ? null : await store.sessions.find(id);
        const found = await store.actions.list({
          limit: limit + 1,
          ...since,
          ...(who === null ? {} : { who }),
          ...(id === null ? {} : { session: session ? sessionTag(session) : id }),
        });
        // This reads many traces, so it is not done for a table, which does not show the request.
        const requests = out.json ? await findRequests(found, store.traces) : null;
        const sessions = found.flatMap(({ session_id }) => session_id ?? []);
        const shown = await shownIds(store, out, 'session', sessions);
        const findName = await namesIn(store, sessions);
        return found.map((action) => ({
          ...actionView(action, now, seal),
          request_id: requests?.get(action.action_id) ?? null,
          name: findName(action.person),
          short_session: shown.get(action.session_id ?? ''),
        }));
      });
    const expect = () => expectKnownUser(who, options);
    await printStored(out, ACTION_COLUMNS, { none: 'No action found.', limit, expect, read });
  },
});
