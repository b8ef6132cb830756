/**
 * All texts of the widget, in English. The service writes them into the script that it serves, together with the
 * operator's replacements. A site can replace them with `texts` in its configuration. A name in braces is replaced by a
 * value.
 */
export const ENGLISH = {
  title: 'Chat',
  launch: 'Open chat',
  launchUnread: 'Open chat: there is a new answer',
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
  /** Label of the group of the two buttons. Screen readers announce it when the group appears. */
  question: 'Answer with {confirm} or {decline}',
  copy: 'Copy code',
  copied: 'Copied',
  latest: 'Show the latest message',
  retry: 'Try again',
  retryIn: 'Try again in {seconds} s',
  online: 'Ready to help',
  offline: 'You are offline',
  connecting: 'Connecting…',
  answering: 'Answering…',
  reconnecting: 'Connection lost. Trying again…',
  away: 'Cannot reach the chat. Trying again…',
  restarted: 'This is a new conversation.',
  signedOut: 'You are no longer signed in. This is a new conversation.',
  personChanged: 'Somebody else has signed in. This is a new conversation.',
  /**
   * Why there is no answer. The keys are the service's error codes, the reasons of its loop guard, and codes of the
   * widget, for example `offline`.
   */
  failures: {
    offline: 'You seem to be offline. Your message will be sent when you are connected again.',
    unreachable: 'The chat cannot be reached. It continues automatically when the connection is back.',
    unavailable: 'The chat is very busy. It continues automatically in a moment.',
    rate_limited: 'You have sent many messages in a short time. Please wait a moment.',
    repetition: 'You have sent the same message several times. Please wait a moment.',
    turn_limit: 'This conversation is too long. Please begin a new one.',
    body_too_large: 'Your message is too long. Please shorten it.',
    confirmation_gone: 'This question is no longer open. Please ask again.',
    agent_timeout: 'The answer took too long. Please try again.',
    interrupted: 'The answer was interrupted. Please try again.',
    other: 'Something went wrong on our side. Please try again.',
  } as Readonly<Record<string, string>>,
  toolStarted: '{tool}…',
  toolCompleted: '{tool}',
  toolFailed: '{tool}: that did not work',
  /** Names of tools, for `toolStarted`, `toolCompleted` and `toolFailed`. */
  tools: { get_user: 'Looking up the account' } as Readonly<Record<string, string>>,
};

export type Texts = typeof ENGLISH;

/** Replaces some of the texts. */
export function textsWith(texts: Texts, own: Partial<Texts> = {}): Texts {
  return {
    ...texts,
    ...own,
    failures: { ...texts.failures, ...own.failures },
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

/** The tool's name in `tools`, or its technical name as words: `shop_cancelOrder` becomes “Shop cancel order”. */
export function wordsForTool(texts: Texts, name: string): string {
  const words = name.replace(/[_-]+|([a-z])(?=[A-Z])/g, '$1 ').toLowerCase();
  return texts.tools[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** Texts by canonical language tag. The first entry is the default. */
export type Translations = Readonly<Record<string, Texts>>;

/** When the service serves the script, it replaces this placeholder with the texts. */
const SERVED = 'agentd-translations' as unknown as Translations;

/**
 * Returns the texts in the language that the site names. If the site names no language, it is the language of the
 * visitor. If there are no texts in this language, returns the texts in the default language. The returned tag is the
 * language that the site names, otherwise the language of the texts.
 */
export function translationFor(site?: string): readonly [language: string, texts: Texts] {
  const wanted = site || navigator.language;
  const tags = [wanted, wanted.slice(0, 2), ...Object.keys(SERVED)];
  const language = tags.find((tag) => SERVED[tag]) as string;
  return [site || language, SERVED[language] as Texts];
}
