import { EXAMPLE } from '../../../plugins/names.ts';
import { defineCommand } from '../command.ts';
import { namedTexts, toJson } from '../output.ts';
import { findInboxMessage, MESSAGE_DETAILS, type ShownMessage } from '../views/inbox-view.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    "Shows the text, the reply, and the notice that a person gets when the agent's runs have failed for good, with tokens masked. ID is the id of the message in agentd or on the platform, the latter with or without the channel's name and a colon before it. While the message is not done, the id of its request works, too. `agentd explain` shows how its run went. Works whether the daemon is running or not. Exit code 1 if there is no such message, or if the id matches several.",
  args: { '<id>': 'id of the message' },
  examples: {
    'agentd inbox show 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Shows one message.',
    [`agentd inbox show ${EXAMPLE.message_id} --json`]: 'Prints it as a JSON object.',
  },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const message = await withStore(options, async (store, settings): Promise<ShownMessage> => {
      const found = await findInboxMessage(store, id, options);
      const outage = (await store.outages.list()).find(({ platform }) => platform === found.platform);
      return { ...found, outage, isFirst: true, now: Date.now(), settings };
    });
    out.data(
      toJson(MESSAGE_DETAILS, message),
      () => `${out.details(MESSAGE_DETAILS, message)}${texts(message)}`,
    );
  },
});

function texts({ message, reply, notice, session_id, state }: ShownMessage): string {
  const isUnsent = reply !== null && session_id !== null && state !== 'done';
  return namedTexts({
    text: message?.text,
    [isUnsent ? 'reply, not sent' : 'reply']: reply,
    'notice of the failure': notice,
  });
}
