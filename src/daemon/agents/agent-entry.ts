import type { EntryLocation } from '../tools/source-entry.ts';

/** One agent of the configuration file, checked. */
export interface AgentEntry {
  readonly name: string;
  /** Text, or the path of a text file. Default: AGENT_INSTRUCTIONS. */
  readonly instructions?: string;
  /** The names of its tools: others do not exist for it. Absent: it has all tools. */
  readonly tools?: readonly ListedTool[];
  /** As in AGENT_MODEL, which is the default. */
  readonly model?: string;
  /** Whether memories are given to it, and the tools of memory offered. */
  readonly memory: boolean;
  /** Which messages it answers. Null: all that no earlier agent answers. */
  readonly when: AgentCondition | null;
  /** The share of persons whom it answers, among those whose messages fit, in percent. Null: all of them. */
  readonly canary_percent: number | null;
  /** Where the entry is, for problems: `agents[0]`, and `agentd.yaml, line 14`. */
  readonly location: EntryLocation;
}

export interface ListedTool {
  readonly name: string;
  readonly location: EntryLocation;
}

/** Values of which one must fit, for each member that is present. */
export interface AgentCondition {
  /** Names of channels. */
  readonly channel?: readonly string[];
  /** `tenant_id` of the person's valid token. */
  readonly tenant_id?: readonly string[];
  /** Id of the workspace on the platform. */
  readonly workspace?: readonly string[];
  /** Language tags. `de` fits `de` and `de-AT`. */
  readonly locale?: readonly string[];
}

/** What is known about a message when its agent is chosen. */
export interface MessageFacts {
  channel: string;
  /** Null if nobody is signed in, or the token names none. */
  tenant_id: string | null;
  /** Null if the platform names none. */
  workspace: string | null;
  /** The language of the token, else of the platform or the browser. Null if it is not known. */
  locale: string | null;
}

/** The only agent if the configuration file lists none: it answers every message, with all tools. */
export const ONLY_AGENT: AgentEntry = {
  name: 'default',
  memory: true,
  when: null,
  canary_percent: null,
  location: { setting: 'agents', source: 'default' },
};
