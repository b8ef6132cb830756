import { type Texts, wordsForFailure } from '../texts.ts';
import type { Failure } from './service.ts';

/** Why the last message has no answer, and what the visitor can do. */
export interface Trouble {
  text: string;
  /** `again`: retry, not before `at`; `anew`: begin a new conversation; `edit`: change the message. */
  remedy: 'again' | 'anew' | 'edit';
  /** ms since the epoch */
  at: number;
  /** Whether the widget retries without the visitor's help as soon as the service can be reached. */
  automatic: boolean;
}

/** Failures that end without the visitor's help when the service can be reached again. */
const PASSING: readonly string[] = ['offline', 'unreachable', 'unavailable'];
/** Statuses with which a service says that it received the message, but could not answer it. */
const TAKEN: readonly number[] = [409, 500, 502, 504];

/** Explains a failure to the visitor. */
export function toTrouble({ code, retryAfter }: Failure, texts: Texts): Trouble {
  return {
    text: wordsForFailure(texts, code),
    remedy: code === 'turn_limit' ? 'anew' : code === 'body_too_large' ? 'edit' : 'again',
    at: Date.now() + retryAfter * 1000,
    automatic: PASSING.includes(code),
  };
}

/** Whether the service has not received the message. */
export function isUndelivered({ over, status }: Failure): boolean {
  return !over && !TAKEN.includes(status);
}
