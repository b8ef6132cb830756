import type { SeededRandom } from '../support/chance.ts';
import type { Person } from './persons.ts';

/** One call as the model made it. Each text of its arguments has the nonce in it. */
export interface ModelCall {
  nonce: string;
  tool: string;
  args: unknown;
  run: Run;
  /** How often the model made it. */
  made: number;
}

/** A message, with all runs that it took: a failed one is repeated under its Idempotency-Key. */
export interface Turn {
  /** Tools that wrote in earlier runs, so that a further write needs confirmation. */
  wrote: Set<string>;
}

/** One run of the agent. */
export interface Run {
  conversation: number;
  /** Within the conversation, from 1. */
  number: number;
  /** Whom it acts for, by what the driver sent; null: nobody. */
  principal: Person | null;
  turn: Turn;
  /** From 1, within the turn. */
  attempt: number;
  random: SeededRandom;
  /** Requests to the model so far. */
  requests: number;
  /** The model's connection breaks at this request; 0: never. */
  breaks_at: number;
  calls: ModelCall[];
  /** The model was told that a call waits for the person. */
  asks: boolean;
  /** Calls that reached a server: all, and those with equal arguments. */
  reached: number;
  equal: Map<string, number>;
}

/** A rule that was broken. */
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
  /** A write was made once more. */
  | 'repeated'
  /** A token or a secret where it must not be. */
  | 'token'
  /** An operation that the configuration does not list, or an address that it does not name. */
  | 'unlisted'
  /** A bound parameter that is not the person's. */
  | 'bound'
  /** More model steps, calls or equal calls than a run may have. */
  | 'bounds'
  /** A write that the journal does not have, or has otherwise. */
  | 'journal'
  /** A confirmed action that was not done, or a message without an answer. */
  | 'lost';

/** What of all this came to pass: a run that met nothing would break no rule either. */
export type Tally = Record<string, number>;

const NONCE = /\bn(\d+)x(\d+)x\d+\b/g;

export function noncesIn(text: string): string[] {
  return [...new Set(text.match(NONCE) ?? [])];
}

/** Names the conversation in what people write, so that the model knows in which it is. */
export function markOf(conversation: number): string {
  return `conv-${conversation}.`;
}

/** The conversation that a prompt belongs to; null: it names none. */
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
