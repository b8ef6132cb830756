import type { PassedState } from '../../daemon/admin/records.ts';
import { adviceFor } from '../advice/advice.ts';
import { hang } from '../hang.ts';
import { channelInWords } from './channel-titles.ts';

/** The states of a session (agentd-identity(7), "States of a session"), in words. */
export const STATE_WORDS: Readonly<Record<PassedState, string>> = {
  NoSession: 'There was no session yet.',
  SessionCreated: 'The session is new.',
  NoJWT: 'Nobody is signed in.',
  JWTReceived: 'The message brought a token.',
  InvalidJWT: 'The token is not valid.',
  ValidJWT: 'A person is signed in.',
  SessionExpired: 'The session has expired.',
};

/** The capital words in the log lines of the loop guard (agentd-message(7), "Log lines of the guard"). */
export const GUARD_WORDS: Readonly<Record<string, string>> = {
  CIRCUIT_OPEN: 'The loop guard now blocks the user.',
  TURN_LIMIT: 'The loop guard blocks the session, which has reached its limit of messages.',
  DUPLICATE: 'The same message arrived again.',
};

/** What a code in a log or a trace means, in one sentence. Undefined if it is not known. */
function codeInWords(code: string): string | undefined {
  const words: Readonly<Record<string, string>> = { ...STATE_WORDS, ...GUARD_WORDS };
  return Object.hasOwn(words, code) ? words[code] : adviceFor(code)?.happened;
}

/** A line for each code that is known, with what it means. */
export function codeLegend(codes: readonly string[], width: number): string {
  const known = codes.flatMap((code) => {
    const words = codeInWords(code);
    return words === undefined ? [] : [{ code, words }];
  });
  const indent = Math.max(0, ...known.map(({ code }) => code.length)) + 2;
  return known.map(({ code, words }) => hang(code, words, { indent, width })).join('');
}

/** The members of a log entry that are codes. */
const CODED = ['reason', 'code', 'state', 'outcome', 'failure', 'because'];

/**
 * The words for a log entry: the platform and user that its text names, and what its codes mean. Empty if there are
 * none.
 */
export function entryInWords(entry: Readonly<Record<string, unknown>>): string {
  const msg = String(entry.msg ?? '');
  const fields = CODED.flatMap((name) => (typeof entry[name] === 'string' ? [entry[name]] : []));
  const inText = msg.match(/\b(?:[A-Z]+_[A-Z]+|DUPLICATE|[a-z]+(?:_[a-z]+)+)\b|(?<=\breason=)\w+/g) ?? [];
  const meanings = [...new Set([...inText, ...fields])].flatMap((code) => codeInWords(code) ?? []);
  return [...whoIn(msg), ...new Set(meanings)].join(' ');
}

function whoIn(msg: string): string[] {
  const [, platform, user] = /\bplatform=(\S+) user=("[^"]*"|\S+)/.exec(msg) ?? [];
  return platform === undefined ? [] : [`User ${user} of ${channelInWords(platform)}.`];
}
