import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/phonechat/render.ts';

describe('a reply on phonechat', () => {
  it.each([
    ['**bold** _italic_ ~~gone~~ `code`', '*bold* _italic_ ~gone~ `code`'],
    ['[a](https://x.example/?a=1&b=2)', 'a (https://x.example/?a=1&b=2)'],
    ['<!channel> a < b & c', '<!channel> a < b & c'],
    ['@here', '@\u2060here'],
    ['> quote', '> quote'],
    ['- a\n- b', '- a\n- b'],
    ['', '…'],
  ])('%j is %j', (markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });
});
