import { toolNameInWords } from '../../../src/channel/event-stream.ts';

/**
 * All texts of the widget, in English. The service writes them into the script that it serves, together with the
 * operator's replacements. A site can replace them with `texts` in its configuration. A name in braces is replaced by a
 * value.
 */
export const ENGLISH = {
  title: 'Chat',
  launch: 'Open chat',
  launchUnread: 'Open chat: new answer',
  close: 'Close chat',
  restart: 'New conversation',
  undo: 'Undo',
  greeting: 'Hello! How can I help?',
  conversation: 'Conversation',
  message: 'Your message',
  placeholder: 'Write a message…',
  send: 'Send message',
  stop: 'Stop the answer',
  you: 'You',
  assistant: 'Assistant',
  waiting: 'The assistant is writing',
  stopped: 'Stopped',
  interrupted: 'Interrupted',
  undelivered: 'Not delivered',
  resend: 'Send again',
  confirm: 'Confirm',
  decline: 'Decline',
  /** Label of the first button if the visitor leaves out some of several actions. */
  confirmSome: 'Confirm {chosen} of {all}',
  /** Label of the group of the two buttons. Screen readers announce it when the group appears. */
  question: 'Answer with {confirm} or {decline}',
  /** Whose credentials an answer used, and for whom an action would be done. */
  actsAs: 'As {name}',
  notSignedIn: 'Not signed in',
  signIn: 'Sign in',
  signInNeeded: 'Sign in to continue.',
  /** In place of `signInNeeded` on a page on which nobody can be signed in, for example `GET /chat`. */
  signInElsewhere: 'Sign in on our website to continue.',
  timeLeft: '{minutes} min left',
  rateGood: 'Good answer',
  rateBad: 'Bad answer',
  /** Asked after “Bad answer”. */
  comment: 'What was wrong? (optional)',
  commentSend: 'Send',
  commentSkip: 'Skip',
  commented: 'Thank you.',
  copyAnswer: 'Copy answer',
  copy: 'Copy code',
  copied: 'Copied',
  latest: 'Latest message',
  retry: 'Try again',
  retryIn: 'Try again in {seconds} s',
  online: 'Ready to help',
  offline: 'You are offline',
  connecting: 'Connecting…',
  answering: 'Answering…',
  reconnecting: 'Reconnecting…',
  away: 'No connection. Retrying…',
  restarted: 'This is a new conversation.',
  signedOut: 'You are no longer signed in. This is a new conversation.',
  personChanged: 'Somebody else has signed in. This is a new conversation.',
  /**
   * Why there is no answer. The keys are the service's error codes, the reasons of its loop guard, and codes of the
   * widget, for example `offline`.
   */
  failures: {
    offline: 'You are offline. Your message will be sent when you are online again.',
    unreachable: 'The chat cannot be reached. It continues automatically when it is back.',
    unavailable: 'The chat is very busy. It continues automatically in a moment.',
    rate_limited: 'You have sent too many messages. Please wait a moment.',
    repetition: 'You have sent the same message too many times. Please wait a moment.',
    turn_limit: 'This conversation is too long. Please begin a new one.',
    body_too_large: 'Your message is too long. Please shorten it.',
    confirmation_gone: 'This question is no longer open. Please ask again.',
    agent_timeout: 'The answer took too long. Please try again.',
    interrupted: 'The answer was interrupted. Please try again.',
    other: 'Something went wrong on our side. Please try again.',
  } as Readonly<Record<string, string>>,
  /** What became of a question. It takes the place of the buttons. */
  outcomes: {
    sending: 'Doing it…',
    refusing: 'One moment…',
    words: 'One moment…',
    done: 'Done at {time}',
    failed: 'That didn’t work. Nothing was changed.',
    declined: 'Declined at {time}. Nothing was changed.',
    expired: 'Expired. Nothing was changed. Ask again if you still want it.',
    partly: 'Only part of this was done, as marked above.',
    unknown: 'It isn’t known yet whether this happened.',
    closed: 'This question is closed.',
  } as Readonly<Record<string, string>>,
  toolStarted: '{tool}…',
  toolCompleted: '{tool}',
  toolFailed: '{tool}: that did not work',
  /** Names of tools, for `toolStarted`, `toolCompleted` and `toolFailed`. */
  tools: { get_user: 'Looking up the account' } as Readonly<Record<string, string>>,
};

export type Texts = typeof ENGLISH;

/** The texts that only parts of the widget show. The service writes them into the parts instead of the script. */
const PART_TEXTS: ReadonlySet<string> = new Set([
  ...['confirm', 'decline', 'confirmSome', 'question', 'timeLeft'],
  ...['rateGood', 'rateBad', 'comment', 'commentSend', 'commentSkip', 'commented'],
  ...['sending', 'refusing', 'words', 'done', 'partly', 'failed', 'unknown', 'declined', 'expired', 'closed'],
]);

/** The texts of the script, or of its parts. */
export function pickTexts(texts: Texts, ofParts: boolean): Partial<Texts> {
  const own = (group: object) =>
    Object.fromEntries(
      Object.entries(group).filter(
        ([name, text]) => typeof text !== 'string' || PART_TEXTS.has(name) === ofParts,
      ),
    );
  const chosen = { ...own(texts), outcomes: own(texts.outcomes) };
  return ofParts ? { ...chosen, failures: {}, tools: {} } : chosen;
}

/** Replaces some of the texts. */
export function textsWith(texts: Texts, own: Partial<Texts> = {}): Texts {
  return {
    ...texts,
    ...own,
    failures: { ...texts.failures, ...own.failures },
    outcomes: { ...texts.outcomes, ...own.outcomes },
    tools: { ...texts.tools, ...own.tools },
  };
}

/** Replaces each `{name}` by its value. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => `${values[name] ?? whole}`);
}

/** The text that tells the visitor why there is no answer. */
export function wordsForFailure(texts: Texts, code: string): string {
  return texts.failures[code] ?? (texts.failures.other as string);
}

/**
 * The tool's name in `tools`, or the title that the service sends, or its technical name as words.
 */
export function wordsForTool(
  texts: Texts,
  { name, title }: { name: string; title?: string | undefined },
): string {
  return texts.tools[name] ?? title ?? toolNameInWords(name);
}

/** Texts by canonical language tag. The first entry is the default. */
export type Translations = Readonly<Record<string, Texts>>;

/** What the script contains: the texts in the default language, and the tags of the other languages. */
export interface ServedTexts {
  language: string;
  texts: Texts;
  others: readonly string[];
}

/** When the service serves the script, it replaces this placeholder. */
const SERVED = 'agentd-translations' as unknown as ServedTexts;

/**
 * Chooses the language of the texts: the language that the site names, else of the page, else of the browser. If there
 * are no texts in these, it is the default language. Other texts than those in the default language are loaded.
 * @param load requests the texts in this language from the service
 * @returns the language that the site names, otherwise the language of the texts; and the texts
 */
export async function translationFor(
  site: string | undefined,
  page: string,
  load: (language: string) => Promise<Texts>,
): Promise<readonly [language: string, texts: Texts]> {
  const { language, texts, others } = SERVED;
  const wanted = site ? [site] : [page, ...navigator.languages];
  const tags = wanted.flatMap((tag) => [tag, tag.slice(0, 2)]);
  const found = tags.find((tag) => tag === language || others.includes(tag)) ?? language;
  if (found === language) return [site || language, texts];
  try {
    return [site || found, await load(found)];
  } catch {
    // The texts in the default language are better than no chat.
    return [site || language, texts];
  }
}
