import { EXAMPLE } from '../../../plugins/names.ts';
import { systemClock } from '../../daemon/clock.ts';
import { printable, withoutControls } from '../../daemon/printable.ts';
import type { InboxMessage } from '../../daemon/store/inbox.ts';
import { adviceFor } from '../advice.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { findInboxMessage } from '../find-inbox-message.ts';
import { attemptsInWords, inboxView, nextInWords, stateInWords } from '../inbox-view.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'inbox show',
  summary: 'Show one message of a platform: what was written, and what came of it.',
  description:
    "With the text, the reply and the apology, tokens masked. ID is the message's own, or the platform's, with or without the channel's name and a colon before it; while it is not done, also that of its request. How its run went is told by `agentd explain`. Works with the daemon up or down. Exit code 1 when there is none, or when the id means several.",
  args: [{ name: 'id', sentence: 'id of the message', required: true }],
  examples: [
    { line: 'agentd inbox show 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Shows one message.' },
    { line: `agentd inbox show ${EXAMPLE.message_id} --json`, does: 'Prints it as a JSON object.' },
  ],
  json: true,
  async run({ args: [id = ''], options, out }) {
    const message = await withStore(options, (store) => findInboxMessage(store.inbox, id));
    const { reply, apology, reply_to } = message;
    const view = {
      ...inboxView(message),
      text: message.message?.text ?? null,
      metadata: message.message?.metadata ?? null,
      shared: message.message?.shared ?? false,
      reply,
      apology,
      reply_to,
    };
    out.data(view, () => inWords(message));
    return EXIT.ok;
  },
};

function inWords(message: InboxMessage): string {
  const view = inboxView(message);
  const word = message.failure?.split(':')[0];
  const advice = word === undefined ? undefined : adviceFor(word);
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
    ['next attempt', nextInWords(message, systemClock.now())],
    ['ended', view.ended_at],
    ['last failure', message.failure],
    ['what to do', message.state === 'failed' ? advice?.todo : null],
  ];
  const head = rows.flatMap(([name, value]) => (value ? [`${name.padEnd(14)} ${printable(value)}`] : []));
  const said = [
    ['text', message.message?.text],
    ['reply', message.reply],
    ['apology', message.apology],
  ].flatMap(([name, text]) => (text ? [`\n${name}:`, paragraph(text)] : []));
  return [...head, ...said].join('\n');
}

function paragraph(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${withoutControls(line)}`))
    .join('\n');
}
