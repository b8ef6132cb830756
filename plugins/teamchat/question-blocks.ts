import { pressPayload, type ReplyConfirmation } from '../../src/channel/index.ts';
import { render } from './render.ts';

/** Maximum length of a section, in characters (https://docs.slack.dev/reference/block-kit/blocks/section-block). */
const SECTION_MAX = 3000;

/** One message of a reply. */
export interface Part {
  text: string;
  blocks?: readonly object[];
}

/**
 * Splits a reply into messages. A question has two buttons. If it is too long for buttons, people answer with words.
 */
export async function partsOf(text: string, confirmation: ReplyConfirmation | undefined): Promise<Part[]> {
  const question = confirmation === undefined ? [] : await render(confirmation.question);
  const [only, ...more] = question.map(withoutEmoji);
  if (confirmation === undefined || only === undefined || more.length > 0 || only.length > SECTION_MAX)
    return plain(await render(text));
  const lead = confirmation.lead === '' ? [] : await render(confirmation.lead);
  return [...plain(lead), { text: only, blocks: blocksOf(only, confirmation) }];
}

function plain(texts: readonly string[]): Part[] {
  return texts.map((text) => ({ text }));
}

/** Inserts an invisible character into `:name:`, because a value must not become an emoji. */
function withoutEmoji(text: string): string {
  return text.replace(/:(?=[\w+'-]+:)/g, ':\u2060');
}

function blocksOf(text: string, { id, confirm, decline }: ReplyConfirmation): object[] {
  const button = (label: string, approve: boolean) => ({
    type: 'button',
    action_id: approve ? 'agentd_confirm' : 'agentd_decline',
    text: { type: 'plain_text', text: label, emoji: false },
    value: pressPayload(id, approve),
    ...(approve ? { style: 'primary' } : {}),
  });
  return [
    // With `verbatim`, names and addresses in the text do not become links.
    { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } },
    { type: 'actions', elements: [button(confirm, true), button(decline, false)] },
  ];
}
