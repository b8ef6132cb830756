import type { ToolAnswer } from '../agent/agent.ts';
import type { Tool, ToolArguments } from './tool.ts';

/** A write, as it is identified in the journal. */
export interface JournaledWrite {
  readonly action_id: string;
  /** Sent as the idempotency key; each attempt has the same key. */
  readonly key: string;
}

/** A call of a tool that writes. */
export interface JournaledCall {
  readonly tool: Tool;
  /** The arguments that are sent, including the bound ones. */
  readonly args: ToolArguments;
}

/** What the journal knows about a write before it is made (agentd-agent(7), "Journal"). */
export type KnownWrite =
  /**
   * This turn has not made the write yet. `further`: an earlier run of the turn made another write with this tool, so
   * the person must confirm this write.
   */
  | { state: 'new'; write: JournaledWrite; further: boolean }
  /** An earlier run made the write, with this result. The write is not made again. */
  | { state: 'ended'; answer: ToolAnswer }
  /** An earlier run sent the write, which may have been carried out. */
  | { state: 'unknown'; write: JournaledWrite };

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
  known(call: JournaledCall): Promise<KnownWrite>;
  /**
   * Records that a write is about to be sent. The record is durable when this resolves. `again`: the outcome was
   * unknown, and the write is sent once more. `lost`: another run of the message has begun, so nothing may be sent.
   */
  start(write: JournaledWrite, call: JournaledCall & { again: boolean }): Promise<'started' | 'lost'>;
  /** Records the outcome of a write. The record is durable when this resolves. */
  finish(write: JournaledWrite, outcome: WriteOutcome): Promise<void>;
}
