import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/msgbot/render.ts';

describe('a reply on msgbot', () => {
  it.each([
    ['**bold** _italic_ ~~gone~~ `code`', '<b>bold</b> <i>italic</i> <s>gone</s> <code>code</code>'],
    ['[a](https://x.example/?a=1&b=2)', '<a href="https://x.example/?a=1&amp;b=2">a</a>'],
    ['<!channel> a < b & c', '&lt;!channel&gt; a &lt; b &amp; c'],
    ['@here', '@\u2060here'],
    ['> quote', '<blockquote>quote</blockquote>'],
    ['- a\n- b', '• a\n• b'],
    ['', '…'],
  ])('%j is %j', (markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });
});
