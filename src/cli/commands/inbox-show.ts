import { EXAMPLE } from '../../../plugins/names.ts';
import { systemClock } from '../../daemon/clock.ts';
import { printable, withoutControls } from '../../daemon/printable.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import type { InboxMessage } from '../../daemon/store/inbox.ts';
import type { Outage } from '../../daemon/store/outages.ts';
import { adviceFor } from '../advice.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { findInboxMessage } from '../find-inbox-message.ts';
import { attemptsInWords, inboxView, nextInWords, stateInWords } from '../inbox-view.ts';
import { isoTime } from '../time-words.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'inbox show',
  summary: 'Show one message of a platform: its text, its state, its reply.',
  description:
    "Shows the text, the reply, and the notice that a person gets after a failed run, with tokens masked. ID is the message's own or the platform's, with or without the channel's name and a colon before it; while the message is not done, also the id of its request. `agentd explain` shows how its run went. Works with the daemon up or down. Exit code 1 if there is none, or if the id means several.",
  args: [{ name: 'id', sentence: 'id of the message', required: true }],
  examples: [
    { line: 'agentd inbox show 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Shows one message.' },
    { line: `agentd inbox show ${EXAMPLE.message_id} --json`, does: 'Prints it as a JSON object.' },
  ],
  json: true,
  async run({ args: [id = ''], options, out }) {
    const { message, outage, settings } = await withStore(options, async (store, found) => {
      const shown = await findInboxMessage(store.inbox, id);
      const outages = await store.outages.list();
      const its = outages.find(({ platform }) => platform === shown.platform);
      return { message: shown, outage: its, settings: found };
    });
    const { reply, notice, parts_sent, reply_to } = message;
    const view = {
      ...inboxView(message, outage),
      tried_until: triedUntil(message, settings),
      platform_out_of_reach: outage === undefined ? null : outage.words,
      text: message.message?.text ?? null,
      metadata: message.message?.metadata ?? null,
      shared: message.message?.shared ?? false,
      reply,
      notice,
      parts_sent,
      reply_to,
    };
    out.data(view, () => inWords(message, outage, settings));
    return EXIT.ok;
  },
};

type Budgets = Pick<Settings, 'INBOX_RUN_SECONDS' | 'INBOX_SEND_SECONDS'>;

/** Until when a failure that passes is followed by another attempt; null if none is open. ISO 8601. */
function triedUntil(message: InboxMessage, settings: Budgets): string | null {
  const { state, ended_at, first_run_at, text_stored_at } = message;
  if (ended_at !== null) return null;
  const [began, seconds] =
    state === 'replied'
      ? [text_stored_at, settings.INBOX_SEND_SECONDS]
      : [first_run_at, settings.INBOX_RUN_SECONDS];
  return began === null ? null : isoTime(began + seconds * 1000);
}

function inWords(message: InboxMessage, outage: Outage | undefined, settings: Budgets): string {
  const view = inboxView(message, outage);
  const word = message.failure?.split(':')[0];
  const advice = word === undefined ? undefined : adviceFor(word);
  const isReply = message.reply !== null && message.session_id !== null;
  const rows: [string, string | null | undefined][] = [
    ['message', message.id],
    ['state', stateInWords(message)],
    ['channel', message.platform],
    ['user', view.user_id],
    ['session', message.session_id],
    ["platform's id", message.message_id],
    ['request', message.request_id],
    ['written', view.sent_at],
    ['received', view.received_at],
    ['attempts', attemptsInWords(message) || 'none yet'],
    ['parts sent', message.parts_sent > 0 ? `${message.parts_sent} so far` : null],
    ['next attempt', nextInWords(message, systemClock.now(), true, outage)],
    ['tried until', triedUntil(message, settings)],
    ['ended', view.ended_at],
    ['last failure', message.failure],
    ['of the notice', message.notice_failure],
    ['what to do', message.state === 'failed' ? advice?.todo : null],
  ];
  const head = rows.flatMap(([name, value]) => (value ? [`${name.padEnd(14)} ${printable(value)}`] : []));
  const texts = [
    ['text', message.message?.text],
    [isReply && message.state !== 'done' ? 'reply, not sent' : 'reply', message.reply],
    ['notice of the failure', message.notice],
  ].flatMap(([name, text]) => (text ? [`\n${name}:`, paragraph(text)] : []));
  return [...head, ...texts].join('\n');
}

function paragraph(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${withoutControls(line)}`))
    .join('\n');
}
