/** Texts that people read and that the agent did not write. Markdown, like replies. */

export const GREETING = [
  'Hello! Write to me, and I will answer.',
  '',
  'To sign in, send `/service_auth` and the token that the website gives you: `/service_auth TOKEN`. I will then delete your message, because the token is a secret. `/service_auth off` signs you out.',
].join('\n');

export const GREETING_IN_GROUP =
  'Hello! Mention me or reply to one of my messages, and I will answer. To sign in, write to me in a private chat.';

export const WORDS_ONLY = 'Sorry, I can only read text. Please describe it in words.';

export const NOTHING_SAID =
  'You mentioned me without a question. Please write the question in the same message.';

export const TOO_LONG = 'Sorry, this message is too long. Please send several shorter ones.';

export const TOKEN_MISSING =
  '❌ Not signed in: JWT Malformed, because there is no token. Send the command with the token that the website gives you: `/service_auth TOKEN`. `/service_auth off` signs you out.';

/** Says nothing about the token, and not whether it is valid: a group reads it. */
export const NOT_IN_GROUPS = 'This command works only in a private chat with me.';

export const DELETE_IT_YOURSELF = 'Please delete your message yourself: I am not allowed to.';

/** For a platform that refused, for any reason. */
export const COULD_NOT_DELETE = 'Please delete your message yourself: I could not.';

export const SIGNED_OUT = '✅ You are signed out here.';

export const WAS_NOT_SIGNED_IN = 'You were not signed in here.';

export const FORWARDED =
  '❌ Not signed in: you forwarded another person’s message. Please send the command yourself.';

/** @param expires_at ms since the epoch */
export function signedIn(email: string, expires_at: number): string {
  return `✅ You are signed in here as ${asCode(email)}, until ${inWords(expires_at)}.`;
}

/** @param reason why the token is invalid (agentd-message(7)) */
export function notSignedIn(reason: string): string {
  return `❌ Not signed in: ${reason}. Please get a new token from the website.`;
}

function inWords(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} (UTC)`;
}

/** The text as code, with any characters in it. */
function asCode(text: string): string {
  return `\`${text.replace(/[`\p{Cc}]/gu, '')}\``;
}
