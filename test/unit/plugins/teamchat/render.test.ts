import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/teamchat/render.ts';

describe('a reply on teamchat', () => {
  it.each([
    ['**bold** _italic_ ~~gone~~ `code`', '*bold* _italic_ ~gone~ `code`'],
    ['[a](https://x.example/?a=1&b=2)', '<https://x.example/?a=1&amp;b=2|a>'],
    ['<!channel> a < b & c', '&lt;!channel&gt; a &lt; b &amp; c'],
    ['@here', '@\u2060here'],
    ['> quote', '> quote'],
    ['- a\n- b', '• a\n• b'],
    ['', '…'],
  ])('%j is %j', (markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });
});
