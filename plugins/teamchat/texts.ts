import { channelTexts } from '../../src/channel/index.ts';

/** How to sign in, and out. Several texts end with these sentences. */
const HOW = 'To sign in, send `/service-auth` followed by the token from our website.';
const HOW_AND_OUT = `${HOW} \`/service-auth off\` signs you out.`;

/** Texts that people read and that the agent did not write. */
export const TEXTS = channelTexts('teamchat', {
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
    'Sorry, this is too long: a message may have {max} characters. Please send it in parts.',
  ],
  how_to_sign_in: [
    'How to sign in: near the end of a reply if the person must sign in first and SIGN_IN_URL is not set.',
    HOW,
  ],
  sign_in_help: ['The answer to `/service-auth help`.', HOW_AND_OUT],
  unknown_command: [
    'The answer to a command that the channel does not have.',
    `I do not know this command. Ask me by mentioning me in a channel, or in a direct message. ${HOW_AND_OUT}`,
  ],
  // A missing token counts as an invalid token. Like the texts of all failures, this text begins with ❌ and gives the
  // reason (agentd-teamchat(7)).
  token_missing: [
    'The answer to a sign-in without a token. It begins with ❌ and names the reason.',
    `❌ You could not be signed in: JWT Malformed, because there is no token. ${HOW_AND_OUT}`,
  ],
  signed_in: [
    'Confirms that a person signed in. {time} is in the time zone of the reader.',
    '✅ You are signed in as {email} until {time}. `/service-auth off` signs you out.',
  ],
  not_signed_in: [
    'The answer to a sign-in that failed. {reason} is one of the reasons in agentd-identity(7).',
    '❌ You could not be signed in: {reason}.',
  ],
  signed_out: ['Confirms that a person signed out.', '✅ You are signed out.'],
  was_not_signed_in: [
    'The answer to a sign-out of a person who was not signed in.',
    '✅ You are signed out; you were not signed in before.',
  ],
  not_done: [
    'The answer to a command if the store cannot be reached.',
    '❌ The service cannot store this at the moment. Please try again in a minute.',
  ],
  not_known_yet: [
    'The answer to a command that takes longer than the platform waits.',
    '❌ This took too long, and I do not know whether it was done. Please try again in a minute.',
  ],
  thinking: ['The status line while an answer is written.', 'is thinking…'],
});
