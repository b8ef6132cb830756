import { renderParts as msgbotParts } from '../../plugins/msgbot/render.ts';
import { renderMessages } from '../../plugins/phonechat/render.ts';
import { renderParts as teamchatParts } from '../../plugins/teamchat/render.ts';

/** The texts of the messages that a reply without a question becomes. */
export async function renderMsgbot(text: string): Promise<string[]> {
  return (await msgbotParts({ text })).map((part) => part.text);
}

export async function renderPhonechat(text: string): Promise<string[]> {
  return (await renderMessages({ text })).map((message) => (message.text as { body: string }).body);
}

export async function renderTeamchat(text: string): Promise<string[]> {
  return (await teamchatParts({ text })).map((part) => part.text);
}
