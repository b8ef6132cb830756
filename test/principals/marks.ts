/**
 * Marks are words that appear nowhere else: one in each message, one in each person's data, and one in each action that
 * a person asks for. Anybody who can read a mark has learned what it stands for. Marks begin with so many letters that no
 * random id contains a mark, and have a 0, so that none has the form of a link code.
 */
export const MARK = /kzqx0[mpd]\d+q[a-z0-9]+/;
const MARKS = /kzqx0[mpd]\d+q[a-z0-9]+/g;

/** Returns the mark of a message. @param history number of the history to which it belongs */
export function messageMark(history: number, message: number): string {
  return `kzqx0m${history}q${message}`;
}

/** Returns the mark in the data that the business system has about a person. */
export function dataMark(history: number, person: string): string {
  return `kzqx0p${history}q${person}`;
}

/** How the business API answers an action. */
export type DeedOutcome = 'done' | 'failed' | 'unknown';

/** Returns the mark of an action. It says how the business API answers it. */
export function deedMark(history: number, deed: number, outcome: DeedOutcome): string {
  return `kzqx0d${history}q${deed}${outcome[0]}`;
}

export function deedOutcome(mark: string): DeedOutcome {
  return ({ f: 'failed', u: 'unknown' }[mark.at(-1) ?? ''] as DeedOutcome | undefined) ?? 'done';
}

/** The history to which the mark of an action belongs. */
export function historyOfMark(mark: string): number {
  return Number(/^kzqx0d(\d+)q/.exec(mark)?.[1]);
}

/** The actions that a message asks for, in order. */
export function deedsAskedFor(text: string): string[] {
  return / order ([\w ]+)$/.exec(text)?.[1]?.split(' ') ?? [];
}

/** The marks of the actions in a text, in order, each once. */
export function deedsIn(text: string): string[] {
  return [...new Set(text.match(MARKS))].filter((mark) => mark.startsWith('kzqx0d'));
}

/** The marks in a text, each once, sorted. */
export function marksIn(text: string): string[] {
  return [...new Set(text.match(MARKS))].sort();
}

/** Returns the e-mail address that a message asks about, or null if it asks about none. */
export function emailAskedFor(text: string): string | null {
  return / look up (\S+@\S+)/.exec(text)?.[1] ?? null;
}

/** The agent adds this text to its reply if it was given a token. */
const TOLD_OF_TOKEN = / and a token/;
const TOKEN = /eyJ[\w-]{8,}\.eyJ[\w-]{8,}/;

/** Whether a text contains a token, or says that the agent got a token. */
export function hasToken(text: string): boolean {
  return TOKEN.test(text) || TOLD_OF_TOKEN.test(text);
}
