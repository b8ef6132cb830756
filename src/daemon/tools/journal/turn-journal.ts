import { hash } from 'node:crypto';
import type { AlreadyDone, ToolAnswer } from '../../../agent/index.ts';
import type { PersonKey } from '../../identity/identity.ts';
import type { Seal } from '../../identity/seal.ts';
import { maskTokens } from '../../settings/secret.ts';
import {
  type Action,
  type ActionOrigin,
  type ActionOutcome,
  type ActionState,
  type ActionStore,
  isUnknown,
  type NewAction,
  type RunClaims,
} from '../../store/actions/actions.ts';
import type { Clock } from '../../time/clock.ts';
import { LATELY_MS } from '../confirmation/confirm-policy.ts';
import { visible } from '../confirmation/plain-value.ts';
import { buildQuestion, questionLine } from '../confirmation/question.ts';
import { canonicalJson } from '../schema/read-arguments.ts';
import type { CompleteCall } from '../tool.ts';
import { closeActionText, openActionText, recordedSummary } from './action-record.ts';

/**
 * What the journal knows about a write before it is made (agentd-agent(7), "Journal"). Its `action_id` is sent as the
 * idempotency key; each attempt has the same one.
 */
export type KnownWrite =
  /**
   * This turn has not made the write yet. `further`: an earlier run of the turn made another write with this tool, so
   * the person must confirm this write.
   */
  | { state: 'new'; action_id: string; further: boolean }
  /** An earlier run made the write, with this result. The write is not made again. */
  | { state: 'ended'; answer: ToolAnswer }
  /** An earlier run sent the write, which may have been carried out. */
  | { state: 'unknown'; action_id: string };

export interface WriteOutcome {
  /** `failed`: the answer was a 4xx, or nothing was sent. `unknown`: the write may have been carried out. */
  state: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
  /** The answer for the agent. A repeated run gets the same answer. */
  answer: ToolAnswer | null;
}

/** The journal of one run, as the policy of calls uses it. */
export interface CallJournal {
  /** Called once for each write of a run, in the order of the calls, because equal calls are numbered in this order. */
  known(call: CompleteCall): Promise<KnownWrite>;
  /** Whether the tool wrote in this session within `LATELY_MS`, or may have written. */
  wroteLately(tool: string): Promise<boolean>;
  /**
   * Whether an earlier run of the turn wrote with this tool, or may have, for somebody whose writes this run may not see.
   */
  wroteForOthers(tool: string): boolean;
  /**
   * Records that a write is about to be sent. The record is durable when this resolves. `again`: the outcome was
   * unknown, and the write is sent once more. `lost`: another run of the message has begun, so nothing may be sent.
   */
  start(action_id: string, call: CompleteCall & { again: boolean }): Promise<'started' | 'lost'>;
  /** Records the outcome of a write. The record is durable when this resolves. */
  finish(action_id: string, outcome: WriteOutcome): Promise<void>;
}

const NOT_SENT: ActionOutcome = { state: 'failed', status: null, answer: null };
const UNKNOWN: ActionOutcome = { state: 'unknown', status: null, answer: null };

/** The run whose writes are recorded. */
export interface JournaledRun {
  origin: ActionOrigin;
  /** The actions of earlier runs of the message (`ActionStore.ofTurn`). */
  earlier: readonly Action[];
  claims: RunClaims;
}

interface JournalParts {
  actions: Pick<ActionStore, 'find' | 'start' | 'restart' | 'finish' | 'wroteSince'>;
  seal: Seal;
  clock: Clock;
}

/** The writes of a turn, as far as the run knows them. */
interface Calls {
  /** The writes by id, in the order in which they were started. */
  readonly writes: Map<string, TurnWrite>;
  /** For each group of identical calls, the number of the last call. */
  readonly numbers: Map<string, number>;
  /** By action id, functions that record the outcomes that could not be recorded before. */
  readonly unrecorded: Map<string, () => Promise<void>>;
}

/**
 * The journal of one run of a message (agentd-agent(7), "Journal"). Each write is recorded before it is sent, and its
 * outcome after that. So a repeated run finds the writes of its turn: an identical call gets the known outcome, and is
 * not made again.
 */
export class TurnJournal implements CallJournal {
  readonly #run: JournaledRun;
  readonly #parts: JournalParts;
  readonly #earlier: readonly TurnWrite[];
  /** Null while the turn has no writes. This saves memory: most turns have none, and a run may wait for minutes. */
  #calls: Calls | null = null;

  constructor(run: JournaledRun, parts: JournalParts) {
    this.#run = run;
    this.#parts = parts;
    const written = run.earlier.filter(({ started_at }) => started_at !== null);
    this.#earlier = written.map((action) => recordedWrite(action, run.origin.person, parts.seal));
    for (const write of this.#earlier) {
      const { action_id, attempt, state } = write;
      this.#known.writes.set(action_id, { ...write });
      // The run that sent this write has died, or has lost its claim to this run. If it is still alive, it may record
      // the outcome later, and that outcome replaces `unknown`.
      if (state === 'started')
        this.#known.unrecorded.set(action_id, () => parts.actions.finish(action_id, attempt, UNKNOWN));
    }
  }

  /** The writes of earlier runs of the message, for the agent. */
  get alreadyDone(): AlreadyDone[] {
    return this.#earlier
      .filter(({ is_shown, is_confirmed }) => is_shown && !is_confirmed)
      .map(({ tool, summary, state, status }) => ({
        tool,
        summary,
        outcome: state === 'done' || state === 'failed' ? state : 'unknown',
        status,
      }));
  }

  /** The writes of this turn that may be shown to its sender, in the order in which they were started. */
  get written(): readonly ShownWrite[] {
    return [...(this.#calls?.writes.values() ?? [])].filter(({ is_shown }) => is_shown);
  }

  /** Makes sure that `written` includes a confirmed action, even if its outcome could not be recorded. */
  async include(action_id: string): Promise<void> {
    if (!this.#known.writes.has(action_id)) await this.#confirmed(action_id);
  }

  async known(call: CompleteCall): Promise<KnownWrite> {
    const action_id = this.#numbered(call);
    const found = this.#known.writes.get(action_id);
    if (!found) return { state: 'new', action_id, further: this.#wroteEarlier(call.tool.name) };
    if (isUnknown(found)) await this.#lookAgain(found);
    if (isUnknown(found) && found.is_shown) return { state: 'unknown', action_id };
    return { state: 'ended', answer: knownAnswer(found) };
  }

  wroteLately(tool: string): Promise<boolean> {
    return this.#parts.actions.wroteSince(this.#run.origin.session_tag, tool, LATELY_MS);
  }

  wroteForOthers(tool: string): boolean {
    return this.#wroteEarlier(tool, ({ is_shown }) => !is_shown);
  }

  async start(
    action_id: string,
    { again, ...call }: CompleteCall & { again: boolean },
  ): Promise<'started' | 'lost'> {
    const found = this.#known.writes.get(action_id);
    if (again && found) return (await this.repeat(action_id)) === 'started' ? 'started' : 'lost';
    const summary = summarizeCall(call);
    const { outcome } = await this.#begin(this.#newAction(action_id, call, summary));
    // `known`: another run of the message has started this write, so that run has replaced this one.
    if (outcome !== 'started') return 'lost';
    this.#known.writes.set(action_id, {
      action_id,
      tool: call.tool.name,
      summary,
      is_shown: true,
      is_confirmed: false,
      state: 'started',
      attempt: 1,
      status: null,
      answer: null,
      is_being_sent: true,
      at: this.#parts.clock.now(),
    });
    return 'started';
  }

  /**
   * Records that a write with an unknown outcome will be sent once more. The record is durable when the promise
   * resolves.
   * @returns `gone`: the outcome has become known, or another run is sending it. `lost`: this run has lost its claims.
   */
  async repeat(action_id: string): Promise<'started' | 'gone' | 'lost'> {
    const write = this.#known.writes.get(action_id) ?? (await this.#confirmed(action_id));
    const outcome = await this.#parts.actions.restart(this.#run.claims, action_id, write.attempt);
    if (outcome === 'started')
      Object.assign(write, { state: 'started', attempt: write.attempt + 1, is_being_sent: true });
    return outcome;
  }

  get #known(): Calls {
    this.#calls ??= { writes: new Map(), numbers: new Map(), unrecorded: new Map() };
    return this.#calls;
  }

  #wroteEarlier(tool: string, isMeant = (_write: TurnWrite) => true): boolean {
    return this.#earlier.some((write) => write.tool === tool && write.state !== 'failed' && isMeant(write));
  }

  /**
   * Records a new write. If the store fails, the write is not sent, but its record may exist. In that case, the journal
   * records later that nothing was sent.
   */
  async #begin(action: NewAction): ReturnType<ActionStore['start']> {
    const { actions } = this.#parts;
    try {
      return await actions.start(this.#run.claims, action);
    } catch (error) {
      const { action_id } = action;
      this.#known.unrecorded.set(action_id, () => actions.finish(action_id, 1, NOT_SENT));
      throw error;
    }
  }

  async finish(action_id: string, outcome: WriteOutcome): Promise<void> {
    const { actions, seal } = this.#parts;
    const write = this.#known.writes.get(action_id) ?? (await this.#confirmed(action_id));
    // The outcome is kept here even if it cannot be recorded.
    Object.assign(write, outcome, { is_being_sent: false, at: this.#parts.clock.now() });
    const { state, status, answer } = outcome;
    const text = answer && closeActionText(seal, action_id, 'answer', JSON.stringify(answer));
    const record = () => actions.finish(action_id, write.attempt, { state, status, answer: text });
    this.#known.unrecorded.set(action_id, record);
    await record();
    this.#known.unrecorded.delete(action_id);
  }

  /** Whether there are outcomes that could not be recorded before. */
  get hasUnrecorded(): boolean {
    return this.#calls !== null && this.#calls.unrecorded.size > 0;
  }

  /**
   * Records the outcomes that could not be recorded before, and that the outcomes of dead runs are unknown. Called
   * before the reply is stored.
   */
  async recordAgain(): Promise<void> {
    for (const [action_id, record] of this.#calls?.unrecorded ?? []) {
      await record();
      this.#known.unrecorded.delete(action_id);
    }
  }

  /** Reads a confirmed action. `start` was not called for it: its record was started by the person's answer. */
  async #confirmed(action_id: string): Promise<TurnWrite> {
    const action = await this.#parts.actions.find(action_id);
    if (!action) throw new Error('a write that was sent is not in the journal');
    const write = recordedWrite(action, this.#run.origin.person, this.#parts.seal);
    this.#known.writes.set(action_id, write);
    return write;
  }

  /**
   * Reads a write again. The process that sent it may still be alive, and may have recorded the outcome since this run
   * began.
   */
  async #lookAgain(write: TurnWrite): Promise<void> {
    const action = await this.#parts.actions.find(write.action_id);
    if (action) Object.assign(write, recordedWrite(action, this.#run.origin.person, this.#parts.seal));
  }

  /**
   * The key of a call: a hash of its turn, tool and arguments, and of its number among identical calls. If the last
   * identical call has an unknown outcome, this call counts as a repeat of that call, and gets the same key.
   */
  #numbered({ tool, args }: CompleteCall): string {
    const call = canonicalJson([this.#run.origin.turn_key, tool.name, args]);
    const last = this.#known.numbers.get(call);
    if (last !== undefined) {
      const before = this.#known.writes.get(this.#hashCall(call, last));
      if (before && isUnknown(before) && !before.is_being_sent) return before.action_id;
    }
    const number = last === undefined ? 0 : last + 1;
    this.#known.numbers.set(call, number);
    return this.#hashCall(call, number);
  }

  #hashCall(call: string, number: number): string {
    return hashText(`${number} ${call}`);
  }

  #newAction(action_id: string, { tool, args }: CompleteCall, summary: string): NewAction {
    const { seal } = this.#parts;
    return {
      ...this.#run.origin,
      action_id,
      operator: null,
      tool: tool.name,
      args: closeActionText(seal, action_id, 'args', maskTokens(JSON.stringify(args))),
      summary: closeActionText(seal, action_id, 'summary', summary),
    };
  }
}

function hashText(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** A write of a turn, as a run of the turn knows it. */
interface TurnWrite {
  readonly action_id: string;
  readonly tool: string;
  /** The summary, on one line of plain text. */
  readonly summary: string;
  /**
   * Whether its outcome may be shown: the write was made for the person of this run, or for a sender who was not signed
   * in.
   */
  readonly is_shown: boolean;
  /** Whether the person has confirmed it. The agent then gets it as `confirmed`. */
  readonly is_confirmed: boolean;
  state: ActionState;
  attempt: number;
  status: number | null;
  answer: ToolAnswer | null;
  /** When its outcome was recorded; before that, when it was started. ms since the epoch. */
  at: number;
  /** Whether this run is sending it now. */
  is_being_sent: boolean;
}

/** A write as its sender may see it. */
export type ShownWrite = Pick<TurnWrite, 'action_id' | 'tool' | 'summary' | 'state' | 'status' | 'at'>;

/** A write that an earlier run of the turn recorded. */
function recordedWrite(action: Action, person: PersonKey | null, seal: Seal): TurnWrite {
  const answer = openActionText(seal, action, 'answer');
  return {
    action_id: action.action_id,
    tool: action.tool,
    summary: recordedSummary(seal, action),
    is_confirmed: action.principal !== null,
    is_shown: action.person === null || action.person === person,
    state: action.state,
    attempt: action.attempt,
    status: action.status,
    answer: answer === null ? null : (JSON.parse(answer) as ToolAnswer),
    at: action.finished_at ?? action.started_at ?? action.created_at,
    is_being_sent: false,
  };
}

/** The answer for an agent that makes the same write again. */
function knownAnswer({ is_shown, state, answer }: TurnWrite): ToolAnswer {
  if (!is_shown)
    return failure('An earlier run of this message made this call for somebody else. It was not made again.');
  if (answer) return answer;
  return state === 'done'
    ? { ok: true, result: { message: 'This was done already. Its answer is no longer known.' } }
    : failure('This has failed already, and it was not tried again.');
}

function failure(message: string): ToolAnswer {
  return { ok: false, message };
}

/** A description of a write on one line of plain text, as in the question that asks for its confirmation. */
export function summarizeCall({ tool, args }: CompleteCall): string {
  const question = buildQuestion(tool, args);
  // Arguments that are too long for a question are left out here. The record of the action contains them.
  return maskTokens(question ? questionLine(question) : visible(tool.title ?? tool.name));
}
