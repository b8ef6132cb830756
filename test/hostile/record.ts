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

/** A message with all its runs: a failed one is repeated under its Idempotency-Key. */
export interface Turn {
  /** Tools that wrote in earlier runs, so that a further write needs confirmation. */
  wrote: Set<string>;
}

/** One run of the agent. */
export interface Run {
  conversation: number;
  /** Number within the conversation, from 1. */
  number: number;
  /** The person for whom it acts, according to what the driver sent; null if nobody is signed in. */
  principal: Person | null;
  turn: Turn;
  /** Number within the turn, from 1. */
  attempt: number;
  random: SeededRandom;
  /** Requests to the model so far. */
  requests: number;
  /** The model's connection breaks at this request; 0 if it does not break. */
  breaks_at: number;
  calls: ModelCall[];
  /** Whether the model was informed that a call waits for the person. */
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
  /** A request carried a credential that is not its person's. */
  | 'credential'
  /** A write that its person did not confirm, or that is not what they confirmed. */
  | 'unconfirmed'
  /** A write was made again. */
  | 'repeated'
  /** A token or a secret where it must not be. */
  | 'token'
  /** A request for an operation or an address that is not in the configuration. */
  | 'unlisted'
  /** A bound parameter did not belong to the person. */
  | 'bound'
  /** A run had too many model steps, calls or equal calls. */
  | 'bounds'
  /** A write is missing in the journal, or differs from it. */
  | 'journal'
  /** A confirmed action was not done, or a message got no answer. */
  | 'lost';

/** How often each situation occurred. A play without these situations could not break a rule. */
export type Tally = Record<string, number>;

const NONCE = /\bn(\d+)x(\d+)x\d+\b/g;

export function noncesIn(text: string): string[] {
  return [...new Set(text.match(NONCE) ?? [])];
}

/** Marks the messages of people with their conversation, so that the model knows it. */
export function markOf(conversation: number): string {
  return `conv-${conversation}.`;
}

/** The conversation to which a prompt belongs; null if it names none. */
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
