import { describe, expect, it } from 'vitest';
import type { Piece } from '../../../../plugins/webchat/widget/markdown/inline.ts';
import { parseMarkdown } from '../../../../plugins/webchat/widget/markdown/parse.ts';
import { readBlocks, readInline } from '../../../../src/channel/markdown/parser.ts';
import { buildQuestion, markdownLines } from '../../../../src/daemon/tools/confirmation/question.ts';
import { renderMsgbot, renderPhonechat, renderTeamchat } from '../../../support/rendered-replies.ts';

/** Values that at least one platform would read as markup. */
const HOSTILE = [
  '*bold* **strong** _em_ __x__ ~s~ ~~del~~',
  '`code` ```block```',
  '[link](https://evil.example) ![image](x.png) [ref][1] [^1]',
  '<b>html</b> <https://evil.example> <@U1> <!channel> <#C1|general>',
  'https://evil.example/path?x=_a_ www.evil.example',
  '&lt;b&gt; &amp; &#42; AT&T',
  '# heading',
  '> quote',
  '- item',
  '1. item',
  '--- | ---',
  'a | b',
  '" confirmed: "yes',
  '\\* \\_ \\',
  'snake_case_name 2*3*4',
  'a\n\n# new paragraph\n---',
];

/** Text between two equal markup characters, which Slack and WhatsApp read as markup. */
const MARKS = /(?<![\p{L}\p{N}])([*_~`])\S.*\1(?![\p{L}\p{N}])/mu;

const ARGS = Object.fromEntries(HOSTILE.map((value, index) => [`arg_${index}`, value]));
const TOOL = { name: 'shop_send', title: '- Send *this* [now](x) <b>', summary: null, hide: [] };
const question = buildQuestion(TOOL, ARGS);
if (question === null) throw new Error('the question is too long');
const [action, ...list] = markdownLines([question]);
const markdown = `${action}\n\n${list.join('\n')}`;
/** The lines that people must see. */
const lines = [question.title, ...question.details.map(({ label, value }) => `${label}: ${value}`)];

describe('the question is shown as text, never as markup,', () => {
  it('in CommonMark with the GitHub extensions', () => {
    const env = {};
    const tokens = readBlocks(markdown, env);
    const allowed = /^(paragraph|bullet_list|list_item)_(open|close)$|^inline$/;
    expect(tokens.map(({ type }) => type).filter((type) => !allowed.test(type))).toEqual([]);
    const inline = tokens
      .filter(({ type }) => type === 'inline')
      .map(({ content }) => readInline(content, env));
    expect(
      inline
        .flat()
        .map(({ type }) => type)
        .filter((type) => !/^text(_special)?$/.test(type)),
    ).toEqual([]);
    expect(inline.map((parts) => parts.map(({ content }) => content).join(''))).toEqual(lines);
  });

  it('in the widget', () => {
    const [first, second, ...more] = parseMarkdown(markdown);
    expect([first?.tag, second?.tag, more]).toEqual(['p', 'ul', []]);
    const items = (second?.children ?? []) as Piece[];
    expect([textOf(first), ...items.map(textOf)]).toEqual(lines);
  });

  it('in HTML for Telegram', async () => {
    const html = (await renderMsgbot(markdown)).join('\n');
    expect(html.match(/<[^>]*>/g) ?? []).toEqual([]);
    expect(shownLines(unescaped(html))).toEqual(lines);
  });

  it('in mrkdwn for Slack', async () => {
    const mrkdwn = (await renderTeamchat(markdown)).join('\n');
    expect(mrkdwn).not.toMatch(/[<>]/);
    expect(mrkdwn).not.toMatch(MARKS);
    expect(shownLines(unescaped(mrkdwn))).toEqual(lines.map(withLookalikes));
  });

  it('in messages for WhatsApp', async () => {
    const text = (await renderPhonechat(markdown)).join('\n');
    expect(text).not.toMatch(MARKS);
    expect(shownLines(text)).toEqual(lines.map(withLookalikes));
  });
});

function textOf(piece: Piece | undefined): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string') return piece;
  expect(['p', 'ul', 'li']).toContain(piece.tag);
  return piece.children.map(textOf).join('');
}

/** The lines without bullets, and without the invisible characters that keep names from notifying people. */
function shownLines(text: string): string[] {
  return text
    .replaceAll('\u2060', '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => (index === 0 ? line : line.replace(/^[•-] /, '')))
    .map(withLookalikes);
}

/**
 * Puts the original characters back. Slack and WhatsApp have no escapes, so agentd replaces characters that would
 * form a pair by similar characters.
 */
function withLookalikes(line: string): string {
  return line.replaceAll('∗', '*').replaceAll('ˍ', '_').replaceAll('∼', '~').replaceAll('ˋ', '`');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}
