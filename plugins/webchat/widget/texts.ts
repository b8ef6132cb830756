/**
 * All words that the widget shows, in English. A site gives its own, or another language's, as `texts` of
 * its configuration; what it leaves out stays English. `{…}` is filled in.
 */
export const ENGLISH = {
  title: 'Chat',
  launch: 'Open chat',
  launchUnread: 'Open chat: there is a new answer',
  close: 'Close chat',
  restart: 'New conversation',
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
  latest: 'Show the latest message',
  retry: 'Try again',
  retryIn: 'Try again in {seconds} s',
  online: 'Ready to help',
  offline: 'You are offline',
  reconnecting: 'Connection lost. Trying again…',
  restarted: 'This is a new conversation.',
  signedOut: 'You are no longer signed in. This is a new conversation.',
  personChanged: 'Somebody else has signed in. This is a new conversation.',
  /** Why there is no answer: by the service's error codes, the reasons of its loop guard, and two of our own. */
  failures: {
    offline: 'You seem to be offline. Your message will be sent when you are connected again.',
    unreachable: 'The chat cannot be reached at the moment. Please try again.',
    unavailable: 'The chat is very busy right now. Please wait a moment.',
    rate_limited: 'You have sent many messages in a short time. Please wait a moment.',
    repetition: 'You have sent the same message several times. Please wait a moment before you write again.',
    turn_limit: 'This conversation has become very long. Please begin a new one.',
    body_too_large: 'Your message is too long. Please shorten it.',
    agent_timeout: 'The answer took too long. Please try again.',
    interrupted: 'The answer was interrupted. Please try again.',
    other: 'Something went wrong on our side, and there is no answer. Please try again.',
  } as Readonly<Record<string, string>>,
  toolStarted: '{tool}…',
  toolCompleted: '{tool}',
  toolFailed: '{tool}: that did not work',
  /** Words for tools by their name, as `toolStarted` and the like show them. */
  tools: { get_user: 'Looking up the account' } as Readonly<Record<string, string>>,
};

export type Texts = typeof ENGLISH;

/** English, with the site's own words over it. */
export function textsWith(own: Partial<Texts> = {}): Texts {
  return {
    ...ENGLISH,
    ...own,
    failures: { ...ENGLISH.failures, ...own.failures },
    tools: { ...ENGLISH.tools, ...own.tools },
  };
}

/** Fills in `{name}`. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Why there is no answer, in words a visitor understands. */
export function wordsForFailure(texts: Texts, code: string): string {
  return texts.failures[code] ?? texts.failures.other ?? '';
}

/** What a tool does, in words: the site's, or its name spelt out. */
export function wordsForTool(texts: Texts, name: string): string {
  const words = name.replace(/[_-]+/g, ' ');
  return texts.tools[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
