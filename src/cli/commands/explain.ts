import { printable } from '../../daemon/printable.ts';
import { failed } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { messageTraces } from '../message-traces.ts';
import { traceInWords, traceView } from '../trace-view.ts';
import { wholeNumber } from '../whole-number.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'explain',
  summary: 'Explain why a conversation went as it did.',
  description:
    "Shows a timeline of a message, or of the last messages of a session: who sent it and whether its token was valid, which credentials each call of the business API used, the tools, and the reply or failure. For a platform message it also shows when the message was accepted, and when its reply was sent or what it waits for. After the timeline, it says for whom the agent acted, what happened and what to do. ID is the id of a session, of a request (`X-Request-Id`), or of a platform's message, with or without the channel's name before it. Refused requests are found by their request id. Exit code 1 if nothing is found.",
  args: [{ name: 'id', sentence: 'id of a session, a request or a message', required: true }],
  options: [
    {
      flags: '--limit <n>',
      sentence: 'maximum number of messages of a session, 1 to 200; the last ones are shown',
      default: 5,
    },
  ],
  examples: [
    { line: 'agentd explain 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d', does: 'Explains one request.' },
    { line: 'agentd explain "$SESSION_ID" --limit 1', does: 'Explains the last message of a session.' },
  ],
  json: true,
  async run({ args: [id = ''], options, out }) {
    const limit = wholeNumber('--limit', options.limit, { min: 1, max: 200 });
    const { shown, all, days } = await withStore(options, async (store, settings) => ({
      ...(await messageTraces(store, id, limit)),
      days: settings.TRACE_RETENTION_DAYS,
    }));
    if (shown.length === 0) {
      throw failed(
        `nothing is known about '${printable(id)}'`,
        `Traces are kept for ${days} days (TRACE_RETENTION_DAYS). Find the sessions of a user with \`agentd sessions list --user ID\`, and requests in \`agentd logs\`. Check that this is the STATE_DIR of the daemon.`,
      );
    }
    out.data({ id, traces: shown.map(({ trace }) => traceView(trace)) }, () =>
      shown.map(({ trace, waits }) => traceInWords(trace, out, waits)).join('\n'),
    );
    if (shown.length < all && !out.json) out.note(`The last ${shown.length} of ${all}; --limit shows more.`);
    return EXIT.ok;
  },
};
