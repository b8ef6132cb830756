import type { PersonKey } from '../../identity/identity.ts';
import type { Seal } from '../../identity/seal.ts';
import { maskTokens } from '../../settings/secret.ts';
import type { NewPendingAction } from '../../store/actions.ts';
import { digestRecord } from '../definition-digest.ts';
import { closeActionText } from '../journal/action-record.ts';
import type { CompleteCall, Tool, ToolArguments } from '../tool.ts';
import { plainQuestion, QUESTION_MAX, type Question, questionLine, questionOf } from './question.ts';

export type Asked =
  | { outcome: 'waits' }
  /** `message` is a text for the agent, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };

/** The turn that asks. */
interface AskingTurn {
  /** Null for an anonymous web client, because it is not known who would answer. */
  confirmer: string | null;
  /** Whether another action of this principal is already waiting in the session. */
  still_waits: boolean;
  session_tag: string;
  session_id: string;
  platform: string;
  user_id: string;
  alias_id: string | null;
  person: PersonKey | null;
  turn_key: string;
}

/** An action that the reply of the turn asks the person to confirm. */
interface KeptCall {
  action: Omit<NewPendingAction, 'asked_by' | 'answer_ms' | 'unasked_ms'>;
  question: Question;
}

/**
 * Keeps the tool call of a turn that the person must confirm. There is at most one (agentd-agent(7), "Confirmation").
 * Nothing is stored here: the action is stored together with the reply that asks about it.
 */
export class ConfirmationDesk {
  readonly #turn: AskingTurn;
  readonly #seal: Seal;
  readonly #makeId: () => string;
  #kept: KeptCall | null = null;

  /** @param makeId makes the id of the action. */
  constructor(turn: AskingTurn, seal: Seal, makeId: () => string) {
    this.#turn = turn;
    this.#seal = seal;
    this.#makeId = makeId;
  }

  /** The call that waits for confirmation; null if there is none. */
  get kept(): KeptCall | null {
    return this.#kept;
  }

  /**
   * Makes this call the pending action of the session and principal. The action is stored with the turn, whose reply
   * asks the person to confirm it.
   */
  async ask({ tool, args }: CompleteCall): Promise<Asked> {
    const { confirmer, still_waits } = this.#turn;
    if (confirmer === null)
      return refused(
        'sign_in_needed',
        'This was not done: it needs a confirmation, and the person must sign in first to give it. Tell them so.',
      );
    if (this.#kept !== null || still_waits)
      return refused(
        'another_waits',
        'This was not done: another action waits for the person, and only one can wait. Ask again when it is settled.',
      );
    const question = questionOf(tool, args);
    if (question === null)
      return refused(
        'question_too_long',
        `This was not done: the person would be shown more than ${QUESTION_MAX} characters. Use shorter arguments.`,
      );
    const shown = plainQuestion(question);
    if (maskTokens(shown) !== shown)
      return refused('token_in_arguments', 'This was not done: an argument has the form of an access token.');
    this.#kept = { action: this.#actionOf(tool, args, question, confirmer), question };
    return { outcome: 'waits' };
  }

  #actionOf(tool: Tool, args: ToolArguments, question: Question, principal: string): KeptCall['action'] {
    const { confirmer: _confirmer, still_waits: _waits, ...turn } = this.#turn;
    const action_id = this.#makeId();
    const sealed = (field: 'args' | 'summary', text: string) =>
      closeActionText(this.#seal, action_id, field, text);
    return {
      ...turn,
      action_id,
      principal,
      operator: null,
      tool: tool.name,
      tool_digest: digestRecord(tool),
      args: sealed('args', JSON.stringify(args)),
      summary: sealed('summary', questionLine(question)),
    };
  }
}

function refused(reason: string, message: string): Asked {
  return { outcome: 'refused', reason, message };
}
