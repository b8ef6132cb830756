/** Texts that people read and that the agent did not write. Markdown, like replies. */

export const GREETING = [
  'Hello! Write to me, and I answer.',
  '',
  'To sign in, send `/service_auth` and the token that the website gives you: `/service_auth TOKEN`. I then delete your message, since the token is a secret. `/service_auth off` signs you out.',
].join('\n');

export const GREETING_IN_GROUP =
  'Hello! Mention me or answer one of my messages, and I answer. To sign in, write to me in a private chat.';

export const WORDS_ONLY = 'Sorry, I can read words only. Please write to me what it is about.';

export const NOTHING_SAID = 'You called me, but I see no question. Please write it beside my name.';

export const TOO_LONG = 'Sorry, this message is too long for me. Please send it in shorter ones.';

export const TOKEN_MISSING =
  '❌ Not signed in: JWT Malformed, as there is no token. Please send the token that the website gives you along with the command: `/service_auth TOKEN`. `/service_auth off` signs you out.';

/** Says nothing about the token, and not whether it is valid: a group reads it. */
export const NOT_IN_GROUPS = 'This command works in a private chat with me only.';

export const DELETE_IT_YOURSELF = 'Please delete your message yourself: I may not.';

/** For a platform that refused, for any reason. */
export const COULD_NOT_DELETE = 'Please delete your message yourself: I could not.';

export const SIGNED_OUT = '✅ You are signed out here.';

export const WAS_NOT_SIGNED_IN = 'You were not signed in here.';

export const FORWARDED =
  '❌ Not signed in: this is somebody else’s message. Please send the command yourself.';

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
