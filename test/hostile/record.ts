import type { SeededRandom } from '../support/chance.ts';
import type { Person } from './persons.ts';

/** A call as the model made it. Each text in its arguments contains the nonce. */
export interface ModelCall {
  nonce: string;
  tool: string;
  args: unknown;
  run: Run;
  /** How often the model made the call. */
  made: number;
}

/** A message with all its runs. If a run fails, the message is sent again with its Idempotency-Key. */
export interface Turn {
  /** Tools that wrote in earlier runs, so that a further write needs confirmation. */
  wrote: Set<string>;
}

/** One run of the agent. */
export interface Run {
  conversation: number;
  /** Number within the conversation, from 1. */
  number: number;
  /** The person for whom the run acts, according to what the driver sent, or null if nobody is signed in. */
  principal: Person | null;
  turn: Turn;
  /** Number within the turn, from 1. */
  attempt: number;
  random: SeededRandom;
  /** The number of requests to the model so far. */
  requests: number;
  /** The request at which the model's connection breaks, or 0 if it does not break. */
  breaks_at: number;
  calls: ModelCall[];
  /** Whether the model was told that a call waits for the person. */
  asks: boolean;
  /** Number of calls that reached a server: `reached` counts all, `equal` counts them by nonce. */
  reached: number;
  equal: Map<string, number>;
}

/** A broken rule. */
export interface Violation {
  rule: Rule;
  conversation: number;
  what: string;
}

export type Rule =
  /** A request had a credential that does not belong to its person. */
  | 'credential'
  /** A write was not confirmed by its person, or differs from what the person confirmed. */
  | 'unconfirmed'
  /** A write was made again. */
  | 'repeated'
  /** A token or a secret was where it must not be. */
  | 'token'
  /** A request was for an operation or an address that is not in the configuration. */
  | 'unlisted'
  /** A bound parameter did not belong to the person. */
  | 'bound'
  /** A run had too many model steps, calls or equal calls. */
  | 'bounds'
  /** A write is missing from the journal. */
  | 'journal'
  /** A confirmed action was not done, or a message got no answer. */
  | 'lost';

/** How often each situation occurred. Without these situations, no rule could be broken. */
export type Tally = Record<string, number>;

const NONCE = /\bn(\d+)x(\d+)x\d+\b/g;

export function noncesIn(text: string): string[] {
  return [...new Set(text.match(NONCE) ?? [])];
}

/** Returns the mark in the messages of a conversation, so that the model knows the conversation. */
export function markOf(conversation: number): string {
  return `conv-${conversation}.`;
}

/** Finds the conversation to which a prompt belongs, or returns null if the prompt has no mark. */
export function conversationIn(text: string): number | null {
  const found = [...text.matchAll(/\b(?:conv-(\d+)\.|n(\d+)x\d+x\d+\b)/g)].at(-1);
  return found ? Number(found[1] ?? found[2]) : null;
}

/** All texts within a value. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
