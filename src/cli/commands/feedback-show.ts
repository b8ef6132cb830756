import type { Feedback, Store } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit, type Who } from '../../daemon/admin/who.ts';
import { failed } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { wholeId } from '../names/whole-id.ts';
import { namedTexts, toJson } from '../output.ts';
import { FEEDBACK_DETAILS, feedbackView } from '../views/feedback-view.ts';
import { withSealedStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Shows one rating: its comment, and the message and the answer that it is about, while their session exists. ID is the id of the message (`metadata.message_id` of the response), or the id of its request. The command adds a line to the audit log. Works whether the daemon is running or not. Exit code 1 if there is no rating of such a message.',
  args: { '<id>': 'id of the message or of its request' },
  examples: {
    'agentd feedback show 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Shows one rating.',
    'agentd feedback show 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d --json': 'Prints it as a JSON object.',
  },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const { view, turn } = await withSealedStore(options, async (store, seal) => {
      const found = await findFeedback(store, id, options);
      await noteAudit(store, { command: 'feedback show', about: found.turn_id, who: toWho(found) });
      const turns = await store.sessions.turns(found.session_id);
      return {
        view: feedbackView(found, seal),
        turn: turns.find(({ turn_id }) => turn_id === found.turn_id),
      };
    });
    const { text = null, reply = null } = turn ?? {};
    const isUnreadable = view.has_comment && view.comment === null;
    const texts = { comment: isUnreadable ? '(cannot decrypt)' : view.comment, message: text, answer: reply };
    out.data(
      { ...toJson(FEEDBACK_DETAILS, view), text, reply },
      () => `${out.details(FEEDBACK_DETAILS, view)}${namedTexts(texts)}`,
    );
  },
});

/** @throws CliError (1) */
async function findFeedback(store: Store, given: string, options: OptionValues): Promise<Feedback> {
  const { feedback, ids } = store;
  const isKnown = async (id: string) => (await feedback.ofTurns([id])).length > 0;
  const id = await wholeId(store, { kinds: ['feedback'], given, options, isKnown });
  const [{ of: turn_id = id } = {}] = await ids.beginningWith(['feedback'], id, 1);
  const [one] = await feedback.ofTurns([turn_id]);
  if (one !== undefined) return one;
  throw failed(
    `nobody has rated a message '${printable(id)}'`,
    'List ratings with `agentd feedback list`; `agentd explain` shows messages without a rating, too.',
  );
}

function toWho({ person, platform, user_id }: Feedback): Who {
  return person === null ? { platform, user_id } : { person };
}
