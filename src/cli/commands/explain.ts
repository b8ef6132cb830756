import { openAdministratorSeal, type Seal } from '../../daemon/admin/sealing.ts';
import { ConfigurationError } from '../../daemon/admin/settings.ts';
import type { Store } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { failed, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { messageTraces, type Subject } from '../message-traces.ts';
import { channelNames } from '../names/channel-words.ts';
import { wholeNumber } from '../names/typed-values.ts';
import { expectChannel, usersNamed } from '../names/who.ts';
import { wholeId } from '../names/whole-id.ts';
import { actionView } from '../views/action-view.ts';
import { traceInWords, traceView } from '../views/trace-view.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    "Shows a timeline of a message, or of the last messages of a session: who sent it and whether its token was valid, which credentials each call of the business API used, the tools, and the reply or failure. For a platform message it also shows when the message was accepted, and when its reply was sent or what it waits for. Before the timeline, it says for whom the agent acted, which actions were confirmed, declined or carried out, how the person rated the answer, what happened and what to do. ID is the id of a session, of a request (`X-Request-Id`), or of a platform's message, with or without the channel's name before it. Refused requests are found by their request id. With --user, it explains the last messages of a channel user, including messages that wait and messages that were refused, for example by the loop guard. Exit code 1 if nothing is found.",
  args: { '[id]': 'id of a session, a request or a message; not with --user' },
  options: {
    '--user <id>': 'the last messages of this channel user',
    '--platform <name>': {
      sentence: 'with --user: only messages on this channel',
      values: channelNames,
      isChannel: true,
    },
    '--limit <n>': { sentence: 'maximum number of messages, 1 to 200; the last ones are shown', default: 5 },
  },
  examples: {
    'agentd explain 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Explains one request.',
    'agentd explain "$SESSION_ID" --limit 1': 'Explains the last message of a session.',
    'agentd explain --user alice': 'Explains the last messages of a user, including refused messages.',
  },
  json: true,
  async run({ args: [id], options, out }) {
    const { subject, named } = await readSubject(id, options);
    const limit = wholeNumber('--limit', options.limit, { min: 1, max: 200 });
    const seal = await openSeal(options);
    const { shown, all, days } = await withStore(options, async (store, settings) => ({
      ...(await messageTraces(store, await wholeSubject(subject, store, options), limit)),
      days: settings.TRACE_RETENTION_DAYS,
    }));
    if (shown.length === 0) {
      await expectChannel(options, 'platform', out);
      const search =
        'user' in named
          ? 'Write a phone number with its plus sign and country code.'
          : 'Find the messages of a user with `agentd explain --user ID`, and requests in `agentd logs`.';
      throw failed(
        `nothing is known about '${printable(Object.values(named).join())}'`,
        `Traces are kept for ${days} days (TRACE_RETENTION_DAYS). ${search} Check that this is the STATE_DIR of the daemon.`,
      );
    }
    const views = shown.map(({ actions, ...rest }) => ({
      ...rest,
      actions: actions.map((action) => actionView(action, Date.now(), seal)),
    }));
    out.data({ ...named, traces: views.map(traceView) }, () =>
      views.map((one) => traceInWords(one, out)).join('\n'),
    );
    if (shown.length < all && !out.json) out.note(`The last ${shown.length} of ${all}; --limit shows more.`);
  },
});

/** The subject with its whole id, if the person has written the beginning of one. */
async function wholeSubject(subject: Subject, store: Store, options: OptionValues): Promise<Subject> {
  if (!('id' in subject)) return subject;
  const { sessions, traces, inbox } = store;
  const isKnown = async (id: string) =>
    (await sessions.find(id)) !== null ||
    (await traces.find(id)).length > 0 ||
    (await inbox.search(id)).length > 0;
  const kinds = ['session', 'message', 'trace'] as const;
  return { id: await wholeId(store, { kinds, given: subject.id, options, isKnown }) };
}

/** Not everybody who can read the store can read its keys. Without the keys, the summaries of actions stay sealed. */
async function openSeal(options: OptionValues): Promise<Pick<Seal, 'open'>> {
  try {
    return (await openAdministratorSeal(await coreSettings(options, 'links'))).seal;
  } catch (error) {
    if (error instanceof ConfigurationError) return { open: () => null };
    throw error;
  }
}

/** @throws CliError (2) unless either an id or a user is given */
async function readSubject(
  id: string | undefined,
  options: OptionValues & { user?: string; platform?: string },
): Promise<{ subject: Subject; named: { id: string } | { user: string } }> {
  const { user } = options;
  const users = await usersNamed(options);
  if (user === undefined && options.platform !== undefined)
    throw usageError('--platform needs --user', 'Name the user with `--user`.');
  if (id !== undefined && users === null) return { subject: { id }, named: { id } };
  if (id === undefined && users !== null && user !== undefined)
    return { subject: { users }, named: { user } };
  throw usageError(
    id === undefined ? 'neither an id nor --user is given' : 'both an id and --user are given',
    'Name one session, request or message by its id, or a user with --user.',
  );
}
