import type { ChannelScope, LinkAnswer } from '../../src/channel/index.ts';
import { channelTexts, formatMinute } from '../../src/channel/index.ts';

/** Texts that people read and that the agent did not write. They are Markdown, like replies. */
export const TEXTS = channelTexts('msgbot', {
  greeting: [
    'The answer to `/start` and `/help` in a private chat.',
    [
      'Hello! Write to me, and I will answer.',
      '',
      'To sign in, send `/service_auth TOKEN`, with the token from our website in place of TOKEN. I will then delete your message, because the token is a secret. `/service_auth off` signs you out.',
    ].join('\n'),
  ],
  greeting_in_group: [
    'The answer to `/start` and `/help` in a group.',
    'Hello! Mention me or reply to one of my messages, and I will answer. To sign in, write to me in a private chat.',
  ],
  how_to_sign_in: [
    'How to sign in: near the end of a reply if the person must sign in first and SIGN_IN_URL is not set.',
    'To sign in, send `/service_auth TOKEN`, with the token from our website in place of TOKEN.',
  ],
  text_only: [
    'The answer to a message without text.',
    'Sorry, I can only read text. Please describe it in words.',
  ],
  nothing_said: [
    'The answer to a mention without a question.',
    'You mentioned me without a question. Please write the question in the same message.',
  ],
  too_long: [
    'The answer to a message that is too long.',
    'Sorry, this message is too long. Please send several shorter ones.',
  ],
  token_missing: [
    'The answer to a sign-in without a token. It begins with ❌ and names the reason.',
    '❌ Not signed in: JWT Malformed, because there is no token. Send `/service_auth TOKEN`, with the token from our website in place of TOKEN. `/service_auth off` signs you out.',
  ],
  // The text reveals nothing about the token, not even whether it is valid, because a whole group reads the answer.
  not_in_groups: [
    'The answer to a sign-in in a group, where everybody can read it.',
    'This command works only in a private chat with me.',
  ],
  delete_it_yourself: [
    'The end of an answer if the bot may not delete the message with the token.',
    'Please delete your message yourself: I am not allowed to delete it.',
  ],
  // Used if the deletion failed for another reason.
  could_not_delete: [
    'The end of an answer if the message with the token could not be deleted.',
    'Please delete your message yourself: I could not delete it.',
  ],
  signed_out: ['Confirms that a person signed out.', '✅ You are signed out here.'],
  was_not_signed_in: [
    'The answer to a sign-out of a person who was not signed in.',
    'You were not signed in here.',
  ],
  forwarded: [
    'The answer to a sign-in that somebody forwarded.',
    '❌ Not signed in: you forwarded another person’s message. Please send the command yourself.',
  ],
  signed_in: [
    'Confirms that a person signed in. {email} is shown as code; {time} is in the time zone of the person, or else says that it is in UTC.',
    '✅ You are signed in here as {email}, until {time}.',
  ],
  not_signed_in: [
    'The answer to a sign-in that failed. {reason} is one of the reasons in agentd-identity(7).',
    '❌ Not signed in: {reason}. Please get a new token from the website.',
  ],
});

type Say = Pick<ChannelScope, 'say'>;

export function signedIn(
  scope: Say,
  { email, expires_at, locale, timezone }: Extract<LinkAnswer, { linked: true }>,
  platform_locale: string | null,
): string {
  const time = formatMinute(expires_at, timezone);
  return scope.say(TEXTS.signed_in, { email: asCode(email), time }, locale ?? platform_locale);
}

/** Formats a text as code. Backticks and control characters are removed. */
function asCode(value: string): string {
  return `\`${value.replace(/[`\p{Cc}]/gu, '')}\``;
}
