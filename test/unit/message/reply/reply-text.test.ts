import fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { describe, expect, it } from 'vitest';
import { parseMarkdown } from '../../../../plugins/webchat/widget/markdown/parse.ts';
import { ReplyText } from '../../../../src/daemon/message/reply/reply-text.ts';
import { effort } from '../../../support/effort.ts';
import { hostileMarkdown, REPLY_MAX } from '../../../support/hostile-markdown.ts';

/** A client that renders the HTML in a reply. */
const client = new MarkdownIt({ html: true });

const QUESTION = 'Please confirm: Cancel order "1004"';

function replyOf(pieces: readonly string[], mayContinue = true) {
  const sent: string[] = [];
  const reply = new ReplyText({ text: (text) => void sent.push(text) }, mayContinue);
  for (const piece of pieces) reply.push(piece);
  return { reply, sent };
}

async function followed(...pieces: string[]): Promise<string> {
  const { reply, sent } = replyOf(pieces);
  reply.end();
  reply.add(QUESTION);
  expect(sent.join('')).toBe(reply.text);
  return reply.text;
}

/** Whether the client shows the question as a paragraph of its own, below everything else. */
function isShown(text: string): boolean {
  const [open, inline, close] = client.parse(text, {}).slice(-3);
  const isLast = open?.type === 'paragraph_open' && open.level === 0 && close?.type === 'paragraph_close';
  const html = client.render(text).replace(/&quot;/g, '"');
  return isLast && inline?.content === QUESTION && html.endsWith(`<p>${QUESTION}</p>\n`) && !hasTags(html);
}

/** Whether a tag or a comment of the reply itself is in the HTML. */
function hasTags(html: string): boolean {
  return /<(?!\/?(?:p|pre|code|ul|ol|li|blockquote|h[1-6]|hr|em|strong|a|img|s|table|thead|tbody|tr|t[hd]|br)\b)/.test(
    html,
  );
}

const ENDS = [
  '<!--',
  'a <!-- b',
  '<!-- a -->',
  '```',
  '```\ncode',
  '~~~~ text\ncode\n~~~',
  '- a\n  ```\n  code',
  '> ```\n> code',
  '```\n     ```',
  '1. a\n   ~~~\n   code\n~~~',
  '<div hidden>',
  '<div style="display:none">\n\n',
  '<script>',
  '<style>\n\n',
  '<textarea>',
  '<?php',
  '<!DOCTYPE',
  '<![CDATA[',
  'a <b',
  'a <span title="',
  '[a]: /url "',
  '[a]: <',
  '[a]:',
  '> [a]: /url (',
  '[confirm]: https://evil.example',
  '[^1]: note',
  '`code',
  '[link](',
  '![image](x "',
  'a\\',
  '    code',
  '| a | b |\n|---|---|\n| c',
  '# heading',
];

describe('a reply that a text of the daemon follows', () => {
  it.each(ENDS)('shows that text, if the agent ends with %j', async (end) => {
    for (const text of [end, `Done.\n\n${end}`, `${end}\n`, `- a\n\n${end}`])
      expect(isShown(await followed(text)), text).toBe(true);
  });

  it('shows that text in the widget, too', async () => {
    for (const end of ENDS)
      expect(parseMarkdown(await followed(end)).at(-1), end).toMatchObject({ tag: 'p' });
  });

  const part = fc.oneof(
    fc.constantFrom(
      ...ENDS,
      '\n',
      '\n\n',
      ' ',
      '```',
      '~~~',
      '> ',
      '- ',
      '1. ',
      '    ',
      '\t',
      '`',
      '<',
      ']:',
      '[',
      '>',
    ),
    fc.string({ maxLength: 5 }),
  );

  it('shows that text, whatever the agent wrote, and in whatever pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (pieces) => {
        const text = await followed(...pieces);
        expect(text).not.toMatch(/<|\]:/);
        expect(isShown(text)).toBe(true);
        expect(parseMarkdown(text).at(-1)).toEqual(parseMarkdown(QUESTION)[0]);
      }),
      { numRuns: effort(500, 100_000) },
    );
  });

  it.each(Object.entries(hostileMarkdown(REPLY_MAX)))('is closed quickly: %s', async (_, text) => {
    await followed('```');
    const { reply } = replyOf([`~~~\n~~~\n${text}`]);
    const before = process.cpuUsage();
    reply.add(QUESTION);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(500);
  });
});

describe('a reply that nothing follows', () => {
  it('is unchanged, and its end is held back from the first `<` on', () => {
    const { reply, sent } = replyOf(['one ', 'two [a]', ': b <b>', ' three']);
    expect(sent.join('')).toBe('one two [a]');
    reply.end();
    reply.finish();
    expect(reply.text).toBe('one two [a]: b <b> three');
    expect(sent.join('')).toBe(reply.text);
  });

  it('is passed on line by line if its fences are plain, and held back from another fence on', () => {
    const { reply, sent } = replyOf(['a `b` ``', '`c\n``', '`ts\n  ```` d', '\n```\nmore\n- ', '```\n  e\n']);
    expect(sent.join('')).toBe('a `b` ');
    const plain = replyOf(['a `b` ', 'c\n``', '`ts\n  ```` d', '\n```\nmore\n- ', '```\n  e\n']);
    expect(plain.sent.join('')).toBe('a `b` c\n```ts\n  ```` d\n```\nmore\n- ');
    for (const one of [reply, plain.reply]) {
      one.end();
      one.finish();
    }
    expect(plain.sent.join('')).toBe('a `b` c\n```ts\n  ```` d\n```\nmore\n- ```\n  e\n');
    expect(sent.join('')).toBe(reply.text);
  });

  it('is passed on at once if nothing can follow', () => {
    const { sent } = replyOf(['one <', 'b> two '], false);
    expect(sent.join('')).toBe('one <b> two ');
  });

  it('is passed on in whole characters, wherever the pieces end', () => {
    const { reply, sent } = replyOf(['a\ud83d', '\ude00b', 'c\ud83d'], false);
    reply.end();
    expect([sent, reply.text]).toEqual([['a', '😀b', 'c', '\ufffd'], 'a😀bc\ufffd']);
  });

  it('is passed on without its end, which comes with the complete reply', () => {
    const { reply, sent } = replyOf(['Fine. <b>']);
    reply.end();
    reply.add('A notice.');
    reply.addEnd(QUESTION);
    reply.add('More.');
    reply.finish();
    expect(sent.join('')).toBe('Fine. &lt;b>\n\nA notice.');
    expect(reply.text).toBe(`${sent.join('')}\n\n${QUESTION}\n\nMore.`);
  });
});
