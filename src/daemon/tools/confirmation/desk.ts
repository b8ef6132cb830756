import type { PersonKey } from '../../identity/identity.ts';
import type { Seal } from '../../identity/seal.ts';
import { maskTokens } from '../../settings/secret.ts';
import type { NewPendingAction } from '../../store/actions.ts';
import { closeActionText } from '../journal/action-record.ts';
import { canonicalJson } from '../schema/read-arguments.ts';
import type { CompleteCall } from '../tool.ts';
import {
  plainQuestion,
  plainQuestions,
  QUESTION_MAX,
  type Question,
  questionLine,
  questionOf,
} from './question.ts';

/** Maximum number of actions that one question asks about. */
export const ACTIONS_MAX = 10;

export type Asked =
  | { outcome: 'waits' }
  /** `message` is a text for the agent, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };

/** The turn that asks. */
interface AskingTurn {
  /** Null for an anonymous web client, because it is not known who would answer. */
  confirmer: string | null;
  /** Whether another question to this principal is already waiting in the session. */
  still_waits: boolean;
  session_tag: string;
  session_id: string;
  platform: string;
  user_id: string;
  alias_id: string | null;
  person: PersonKey | null;
  turn_key: string;
}

/** A pending action, without the members that depend on how its question is sent. */
export type AskedAction = Omit<NewPendingAction, 'asked_by' | 'answer_ms' | 'unasked_ms'>;

/** The question that the reply of the turn asks. */
export interface KeptQuestion {
  id: string;
  /** In the order in which the calls were made, which is the order in which they are shown and carried out. */
  calls: readonly KeptCall[];
}

interface KeptCall {
  action: AskedAction;
  question: Question;
}

/** A call that needs confirmation. */
interface WaitingCall extends CompleteCall {
  question: Question;
  principal: string;
}

/**
 * Keeps the tool calls of a turn that the person must confirm. One question asks about all of them (agentd-agent(7),
 * "Confirmation"). Nothing is stored here: the actions are stored together with the reply that asks about them.
 */
export class ConfirmationDesk {
  readonly #turn: AskingTurn;
  readonly #seal: Seal;
  readonly #makeId: () => string;
  readonly #waiting = new Map<string, WaitingCall>();

  /** @param makeId makes the id of the question. */
  constructor(turn: AskingTurn, seal: Seal, makeId: () => string) {
    this.#turn = turn;
    this.#seal = seal;
    this.#makeId = makeId;
  }

  /** Whether a call waits for confirmation. */
  get hasCalls(): boolean {
    return this.#waiting.size > 0;
  }

  /** The question about the calls that wait for confirmation; null if there are none. Each call makes a new id. */
  question(): KeptQuestion | null {
    const waiting = [...this.#waiting.values()];
    if (waiting.length === 0) return null;
    const id = this.#makeId();
    const isAlone = waiting.length === 1;
    const calls = waiting.map((call, index) => ({
      action: this.#actionOf(call, isAlone ? { action_id: id } : placeIn(id, index + 1)),
      question: call.question,
    }));
    return { id, calls };
  }

  /**
   * Adds this call to the question at the end of the turn's reply. An equal call is added only once: a model that
   * repeats itself must not make the person pay twice.
   */
  async ask({ tool, args }: CompleteCall): Promise<Asked> {
    const { confirmer, still_waits } = this.#turn;
    if (confirmer === null)
      return refused(
        'sign_in_needed',
        'This was not done: it needs a confirmation, and the person must sign in first to give it. Tell them so.',
      );
    if (still_waits)
      return refused(
        'another_waits',
        'This was not done: another question waits for the person, and only one can wait. Ask again when it is settled.',
      );
    const key = canonicalJson([tool.name, args]);
    if (this.#waiting.has(key)) return { outcome: 'waits' };
    const question = questionOf(tool, args);
    if (question === null)
      return refused(
        'question_too_long',
        `This was not done: the person would be shown more than ${QUESTION_MAX} characters. Use shorter arguments.`,
      );
    const shown = plainQuestion(question);
    if (maskTokens(shown) !== shown)
      return refused('token_in_arguments', 'This was not done: an argument has the form of an access token.');
    if (!this.#fits(question))
      return refused(
        'question_full',
        'This was not done: the person is asked about the earlier calls first, and this call does not fit into that question. Make it again when they have answered.',
      );
    this.#waiting.set(key, { tool, args, question, principal: confirmer });
    return { outcome: 'waits' };
  }

  #fits(question: Question): boolean {
    const questions = [...[...this.#waiting.values()].map((call) => call.question), question];
    return questions.length <= ACTIONS_MAX && Array.from(plainQuestions(questions)).length <= QUESTION_MAX;
  }

  #actionOf(
    { tool, args, question, principal }: WaitingCall,
    ids: Pick<AskedAction, 'action_id' | 'question'>,
  ): AskedAction {
    const { confirmer: _confirmer, still_waits: _waits, ...turn } = this.#turn;
    const sealed = (field: 'args' | 'summary', text: string) =>
      closeActionText(this.#seal, ids.action_id, field, text);
    return {
      ...turn,
      ...ids,
      principal,
      operator: null,
      tool: tool.name,
      args: sealed('args', JSON.stringify(args)),
      summary: sealed('summary', questionLine(question)),
    };
  }
}

function placeIn(question_id: string, number: number): Pick<AskedAction, 'action_id' | 'question'> {
  return { action_id: `${question_id}:${number}`, question: { question_id, number } };
}

function refused(reason: string, message: string): Asked {
  return { outcome: 'refused', reason, message };
}
