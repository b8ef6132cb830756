import { type AnswerHandler, readReceipts } from '../../../../src/channel/event-stream.ts';
import { questionIn } from './question.ts';
import { noteTool, type Transcript } from './transcript.ts';

type Writer = Required<Pick<AnswerHandler, 'text' | 'tool' | 'confirmation' | 'actions'>>;

/**
 * Writes the events of a run into the answer of the transcript.
 * @param person the name of the person whose token the message carries; null if nobody is signed in
 */
export function writeAnswer(transcript: Transcript, person: string | null): Writer {
  return {
    text(piece) {
      transcript.answer().text += piece;
    },
    tool(name, status, { title, credentials, sign_in_needed } = {}) {
      const entry = transcript.answer();
      noteTool(entry.tools, {
        name,
        status,
        needs_sign_in: sign_in_needed === true,
        title: typeof title === 'string' ? title : undefined,
      });
      // What a person's credentials showed is more than what the default credentials show.
      if (credentials === 'user' || credentials === 'exchange') entry.acted_as = person;
      else if (credentials === 'default') entry.acted_as ??= null;
    },
    confirmation(_id, data) {
      transcript.answer().asks = questionIn(data, person);
    },
    actions(data) {
      transcript.answer().did = readReceipts(data);
    },
  };
}
