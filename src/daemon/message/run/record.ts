import type { AgentTurn, PastCall, ToolAnswer } from '../../../agent/index.ts';
import { closeTurnText, type StoredTurn } from '../../session/session.ts';
import { maskTokens } from '../../settings/secret.ts';
import { ContextEnded, type TimeLimit } from '../../time/time-limit.ts';
import type { MadeCall } from '../../tools/perform-call.ts';
import type { Tool } from '../../tools/tool.ts';
import { truncateResult } from '../../tools/truncate-result.ts';
import type { Services } from '../services.ts';
import type { Answering, Resolved } from '../turn.ts';
import type { RunHistory } from './history.ts';
import type { Run } from './run.ts';

/** What a turn keeps about its run for later runs. */
export type RunRecord = Pick<StoredTurn, 'tainted' | 'calls' | 'calls_bytes' | 'state'>;

/** A state is stored again if it is in none of this many latest turns that the run may see. */
const STATE_TURNS = 25;

/** Makes the record of a run that has ended. Nothing is stored about calls and state if there are none. */
export function createRunRecord(
  { turn_id, principal: { person } }: Pick<Answering & Resolved, 'turn_id' | 'principal'>,
  { seal }: Pick<Services, 'seal'>,
  { taint, calls, state, history }: Pick<Run, 'taint' | 'calls' | 'state' | 'history'>,
): RunRecord {
  const turn = { turn_id, person };
  const next = state.changed ?? stateToRenew(history);
  return {
    tainted: taint.isTainted,
    ...(calls.all.length === 0 ? {} : { calls: closeTurnText(seal, turn, 'calls', calls.all) }),
    ...(calls.bytes === 0 ? {} : { calls_bytes: calls.bytes }),
    ...(next === null ? {} : { state: closeTurnText(seal, turn, 'state', next.value) }),
  };
}

/** Old turns leave the history. A state that is still in use is stored again before that. */
function stateToRenew({ state }: Pick<RunHistory, 'state'>): { value: unknown } | null {
  return state !== null && state.value !== null && state.turns_ago > STATE_TURNS ? state : null;
}

/** Maximum size of the state that a runtime keeps, in bytes of JSON. */
const STATE_BYTES = 8_192;

/** The state that a runtime keeps in a session, as one run reads and changes it. */
export class RunState {
  readonly #before: unknown;
  #changed: { value: unknown } | null = null;

  /** @param before the state that an earlier run of the same principal has set; null if there is none. */
  constructor(before: unknown) {
    this.#before = before;
  }

  /** The new state; null if the run did not change it. */
  get changed(): { value: unknown } | null {
    return this.#changed;
  }

  /** @param limit ends with the run. */
  forRun(limit: Pick<TimeLimit, 'hasEnded'>): AgentTurn['state'] {
    return Object.freeze({
      value: this.#before,
      set: (value: unknown) => {
        if (limit.hasEnded) throw ContextEnded.ofRun();
        this.#changed = { value: copyState(value) };
      },
    });
  }
}

/** A copy, so that a runtime cannot change the state after its size was checked. */
function copyState(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json === undefined) throw new TypeError('the state of a runtime must be a JSON value; null deletes it');
  const bytes = Buffer.byteLength(json);
  if (bytes > STATE_BYTES)
    throw new RangeError(
      `the state of a runtime may have ${STATE_BYTES} bytes of JSON, and this one has ${bytes}`,
    );
  return JSON.parse(json);
}

/** Maximum size of the calls that a session keeps for one principal, in bytes of JSON. */
export const SESSION_CALLS_BYTES = 1_048_576;
/**
 * A turn may use this part of the bytes that are left, which is at most 16 KiB. So there is always room for the calls
 * of the latest turns, however long the session is.
 */
const PART_OF_REST = 64;
/** Maximum size of one answer, and of the arguments of one call, in bytes of JSON. Longer ones are cut. */
const ANSWER_BYTES = 4_096;
const ARGUMENTS_BYTES = 1_024;
/** At least the size of the names of the members of a call, in bytes of JSON. */
const MEMBERS_BYTES = 80;

/**
 * The calls of one run that later runs for the same principal get with the history. Each answer is the answer that the
 * agent got: masked, and without what default credentials may not show.
 */
export class KeptCalls {
  readonly all: PastCall[] = [];
  #bytes: number;
  #room: number;
  #hasWritten = false;

  /** @param bytes the size of the calls that the session keeps already for this principal. */
  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#room = Math.floor(Math.max(0, SESSION_CALLS_BYTES - bytes) / PART_OF_REST);
  }

  /** The size of the calls that the session keeps for this principal, with the calls of this run. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a tool that changes something has succeeded, for example one that remembers a text. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Keeps a call if there is room for it. */
  add({ tool, args, answer }: MadeCall): void {
    if (tool.effect === 'write' && answer.ok) this.#hasWritten = true;
    if (!isKept(tool)) return;
    const call = shortenCall(tool, args, answer, this.#room);
    const bytes = Buffer.byteLength(JSON.stringify(call));
    if (bytes > this.#room) return;
    this.#room -= bytes;
    this.#bytes += bytes;
    this.all.push(call);
  }
}

/**
 * The tools of memory and of the journal read what the daemon itself stores. An agent can call them again, and what a
 * person had deleted must not be found in the history.
 */
function isKept({ source, credentials }: Tool): boolean {
  return source.kind !== 'built-in' || credentials !== 'none';
}

/** @param room the size that the call should have at most, in bytes of JSON. */
function shortenCall(tool: Tool, args: unknown, answer: ToolAnswer, room: number): PastCall {
  const given = truncateResult(args ?? {}, maskTokens, Math.min(ARGUMENTS_BYTES, room / 4));
  const besides = Buffer.byteLength(JSON.stringify([tool.name, given])) + MEMBERS_BYTES;
  const max_bytes = Math.min(ANSWER_BYTES, room - besides);
  const whole = answer.ok ? answer.result : answer.message;
  const kept = truncateResult(whole, maskTokens, max_bytes);
  const isCut = JSON.stringify(kept) !== JSON.stringify(whole ?? null);
  return {
    tool: tool.name,
    args: given,
    answer: answer.ok ? { ok: true, result: kept } : { ok: false, message: String(kept) },
    ...(isCut ? { cut: true as const } : {}),
  };
}
