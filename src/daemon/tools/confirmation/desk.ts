import type { Seal } from '../../identity/seal.ts';
import { maskTokens } from '../../settings/secret.ts';
import {
  type Action,
  type ActionOrigin,
  actionIds,
  type NewPendingAction,
} from '../../store/actions/actions.ts';
import { digestRecord } from '../definition-digest.ts';
import { closeActionText, openActionText } from '../journal/action-record.ts';
import { canonicalJson } from '../schema/read-arguments.ts';
import type { CompleteCall } from '../tool.ts';
import { buildQuestion, plainQuestion, QUESTION_MAX, type Question, questionLine } from './question.ts';

/** Maximum number of actions that one question asks about. */
const ACTIONS_MAX = 10;

export type AskOutcome =
  /** `replaces`: the question replaces one that is still open. */
  | { outcome: 'waits'; replaces: boolean }
  /** `message` is a text for the agent, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };

interface AskingTurn {
  origin: ActionOrigin;
  /** Null for an anonymous web client, because it is not known who would answer. */
  confirmer: string | null;
  /** The actions of the question to this principal that is still open; empty if there is none. */
  open: readonly Action[];
  /** The actions that this person has declined lately, with no later message than this one. */
  declined: readonly Action[];
  /** The tools of the actions that this message declines, if it says nothing else. */
  declined_tools: readonly string[];
}

/** A pending action, without the members that depend on how its question is sent. */
export type KeptAction = Omit<NewPendingAction, 'asked_by' | 'told_end' | 'answer_ms' | 'unasked_ms'>;

/** The question that the reply of the turn asks. */
export interface KeptQuestion {
  id: string;
  /**
   * The new pending actions, in the order in which the calls were made, which is the order in which they are shown and
   * carried out. Empty if the question was asked before.
   */
  actions: readonly KeptAction[];
  questions: readonly Question[];
  /** When the actions expire, ms since the epoch. Null: the time begins when the question is asked. */
  expires_at: number | null;
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
  /** The calls that the open question asks about. */
  readonly #open: ReadonlySet<string>;
  /** The calls that the person has declined. */
  readonly #declined: ReadonlySet<string>;

  /** @param makeId makes the id of the question. */
  constructor(turn: AskingTurn, seal: Seal, makeId: () => string) {
    this.#turn = turn;
    this.#seal = seal;
    this.#makeId = makeId;
    this.#open = listCalls(turn.open, seal);
    this.#declined = listCalls(turn.declined, seal);
  }

  /** Whether a call waits for confirmation. */
  get hasCalls(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * The question about the calls that wait for confirmation; null if there are none, or if the open question asks about
   * all of them. Each call makes a new id.
   */
  question(): KeptQuestion | null {
    const waiting = [...this.#waiting.values()];
    if ([...this.#waiting.keys()].every((key) => this.#open.has(key))) return null;
    const id = this.#makeId();
    const ids = actionIds(id, waiting.length);
    const actions = waiting.map((call, index) => this.#buildAction(call, ids[index] ?? id));
    return { id, actions, questions: waiting.map(({ question }) => question), expires_at: null };
  }

  /**
   * Adds this call to the question at the end of the turn's reply. An equal call is added only once: a model that
   * repeats itself must not make the person pay twice.
   */
  async ask({ tool, args }: CompleteCall): Promise<AskOutcome> {
    const { confirmer } = this.#turn;
    if (confirmer === null)
      return refuse(
        'sign_in_needed',
        'This was not done: it needs a confirmation, and the person must sign in first to give it. Tell them so.',
      );
    const key = canonicalJson([tool.name, args]);
    if (this.#declined.has(key) || this.#turn.declined_tools.includes(tool.name))
      return refuse(
        'declined_before',
        'This was not done, and the person is not asked about it: they have just declined it. Ask them in words whether they want something else.',
      );
    const replaces = this.#open.size > 0 && !this.#open.has(key);
    if (this.#waiting.has(key)) return { outcome: 'waits', replaces };
    const question = buildQuestion(tool, args);
    if (question === null)
      return refuse(
        'question_too_long',
        `This was not done: the person would be shown more than ${QUESTION_MAX} characters. Use shorter arguments.`,
      );
    const shown = plainQuestion([question]);
    if (maskTokens(shown) !== shown)
      return refuse('token_in_arguments', 'This was not done: an argument has the form of an access token.');
    if (!this.#fits(question))
      return refuse(
        'question_full',
        'This was not done: the person is asked about the earlier calls first, and this call does not fit into that question. Make it again when they have answered.',
      );
    this.#waiting.set(key, { tool, args, question, principal: confirmer });
    return { outcome: 'waits', replaces };
  }

  #fits(question: Question): boolean {
    const questions = [...[...this.#waiting.values()].map((call) => call.question), question];
    return questions.length <= ACTIONS_MAX && Array.from(plainQuestion(questions)).length <= QUESTION_MAX;
  }

  #buildAction({ tool, args, question, principal }: WaitingCall, action_id: string): KeptAction {
    const sealed = (field: 'args' | 'summary', text: string) =>
      closeActionText(this.#seal, action_id, field, text);
    return {
      ...this.#turn.origin,
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

/** Most turns have no such actions: they share this set, because an empty one needs 200 bytes. */
const NO_CALLS: ReadonlySet<string> = new Set();

function listCalls(actions: readonly Action[], seal: Seal): ReadonlySet<string> {
  return actions.length === 0
    ? NO_CALLS
    : new Set(actions.flatMap((action) => storedCall(action, seal) ?? []));
}

/** The call of a stored action, in the form in which calls are compared. Null if no key opens its arguments. */
function storedCall(action: Action, seal: Seal): string | null {
  const args = openActionText(seal, action, 'args');
  return args === null ? null : canonicalJson([action.tool, JSON.parse(args)]);
}

function refuse(reason: string, message: string): AskOutcome {
  return { outcome: 'refused', reason, message };
}
