import type { StoredTurn } from '../../daemon/admin/records.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { adviceFor } from '../advice/advice.ts';
import { defineCommand } from '../command.ts';
import { isoTime } from '../names/typed-values.ts';
import { wholeSessionId } from '../names/whole-id.ts';
import { indent, toJson } from '../output.ts';
import { SESSION_DETAILS, sessionNotFound, withState } from '../views/session-view.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'For each turn, it shows which credentials were used, and why. The token itself is never printed. Exit code 1 if there is no such session.',
  args: { '<id>': 'id of the session' },
  examples: {
    'agentd sessions show "$SESSION_ID"': 'Shows the whole conversation.',
    'agentd sessions show "$SESSION_ID" --json': 'Prints it as a JSON object.',
  },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const session = await withStore(options, async (store, settings) => {
      const found = await store.sessions.find(await wholeSessionId(store, id, options));
      if (!found) throw sessionNotFound(id);
      const stored = await store.sessions.turns(found.session_id);
      return { ...withState(found, Date.now(), settings), stored };
    });
    out.data(
      toJson(SESSION_DETAILS, session),
      () => `${out.details(SESSION_DETAILS, session)}\n${session.stored.map(turnInWords).join('\n')}`,
    );
  },
});

function turnInWords(turn: StoredTurn): string {
  const why = turn.credentials_reason;
  // The first sentence is the reason, the next one its effect.
  const means = adviceFor(why)?.happened.split('. ')[0]?.replace(/\.$/, '');
  const credentials = `${turn.credentials} credentials: ${why}${means ? ` (${means})` : ''}`;
  const tokens = turn.usage && `${turn.usage.input_tokens} tokens in, ${turn.usage.output_tokens} out`;
  const reply = turn.reply ?? `failed: ${turn.failure ?? 'unknown'}`;
  return [
    [isoTime(turn.started_at), `request ${turn.request_id}`, credentials, tokens].filter(Boolean).join('  '),
    `  ${printable(turn.user_id)}: ${indent(turn.text, '    ', '')}`,
    `  agent: ${indent(reply, '    ', '')}\n`,
  ].join('\n');
}
