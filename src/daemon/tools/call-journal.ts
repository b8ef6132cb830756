import type { ToolAnswer } from '../agent/agent.ts';
import type { Tool, ToolArguments } from './tool.ts';

/** A write, as the journal names it. */
export interface JournaledWrite {
  readonly action_id: string;
  /** The same for each attempt; sent as the idempotency key. */
  readonly key: string;
}

/** A call of a tool that writes. */
export interface JournaledCall {
  readonly tool: Tool;
  /** As they are sent: the bound ones filled in. */
  readonly args: ToolArguments;
  /** As the model filled them in. */
  readonly given: ToolArguments;
}

/** What the journal knows of a write before it is made (agentd-agent(7), "Journal"). */
export type KnownWrite =
  /** This turn has not made it. `further`: an earlier run of the turn made another write by this tool, so the person must confirm. */
  | { state: 'new'; write: JournaledWrite; further: boolean }
  /** An earlier run made it: this is what came of it, and it is not made again. */
  | { state: 'ended'; answer: ToolAnswer }
  /** It was sent, and it may have been carried out. */
  | { state: 'unknown'; write: JournaledWrite };

export interface WriteOutcome {
  /** `failed`: a 4xx, or nothing was sent. `unknown`: it may have been carried out. */
  state: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
  /** As the agent is given it. A repeated run gets it again. */
  answer: ToolAnswer | null;
}

/** The journal of one run, as the policy of calls uses it. */
export interface CallJournal {
  /** Called once for each write of a run, in the order of its calls: equal calls are numbered by it. */
  known(call: JournaledCall): Promise<KnownWrite>;
  /**
   * Records that a write is about to be sent; durable when it resolves. `again`: its outcome was unknown, and it is sent
   * once more. `lost`: another run of the message has begun, and nothing may be sent.
   */
  start(write: JournaledWrite, call: JournaledCall & { again: boolean }): Promise<'started' | 'lost'>;
  /** Records what came of a write; durable when it resolves. */
  finish(write: JournaledWrite, outcome: WriteOutcome): Promise<void>;
}
