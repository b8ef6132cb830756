/**
 * Marks are words that appear nowhere else: one in each message, and one in each person's data. Anybody who can read a
 * mark has learned the message or the data that it stands for. Marks begin with so many letters that no random id
 * contains a mark.
 */
export const MARK = /kzqxj[mp]\d+q[a-z0-9]+/;
const MARKS = /kzqxj[mp]\d+q[a-z0-9]+/g;

/** Returns the mark of a message. @param history number of the history to which it belongs */
export function messageMark(history: number, message: number): string {
  return `kzqxjm${history}q${message}`;
}

/** Returns the mark in the data that the business system has about a person. */
export function dataMark(history: number, person: string): string {
  return `kzqxjp${history}q${person}`;
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
