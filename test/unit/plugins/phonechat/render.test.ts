import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/phonechat/render.ts';

describe('a reply on phonechat', () => {
  it.each([
    ['bold', '**a b**', '*a b*'],
    ['italic', '*a* _b_', '_a b_'],
    ['bold and italic', '***a*** **b *c* d**', '_*a*_ *b _c_ d*'],
    ['struck out', '~~a~~', '~a~'],
    ['code', 'run `a * b` now', 'run `a * b` now'],
    ['bold within a word', 'foo**bar**baz', 'foo\u200b*bar*\u200bbaz'],
    ['bold over two lines', '**a\nb**', '*a*\n*b*'],
    ['code in bold', '**a `b` c**', '*a* `b` *c*'],
    ['bold next to italic', '**a***b*', '*a*\u200b_b_'],
    ['a heading', '# A `b` **c**\ntext', '*A* `b` *c*\n\ntext'],
    ['a line break', 'a  \nb\\\nc\nd', 'a\nb\nc\nd'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
    ['a link', '[a **b**](https://x.example/?a=1&b=2 "t")', 'a *b* (https://x.example/?a=1&b=2)'],
    ['a link in bold', '**see [a](https://x.example)**', '*see a (https://x.example)*'],
    [
      'a link by reference',
      '[a][r] [r]\n\n[r]: https://x.example',
      'a (https://x.example) r (https://x.example)',
    ],
    [
      'an address',
      'https://x.example/a_b_c?d=1&e=@f <https://y.example>',
      'https://x.example/a_b_c?d=1&e=@f https://y.example',
    ],
    ['a mail address', 'write to a.b@x.example', 'write to a.b@x.example'],
    ['a mail link', '[us](mailto:a@x.example)', 'us (a@x.example)'],
    [
      'an image',
      '![a](https://x.example/i.png) ![](https://x.example/i.png)',
      'a (https://x.example/i.png) https://x.example/i.png',
    ],
    ['a link that runs a program', '[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['a link to a person of the platform', '[a](tg://user?id=1)', 'a (tg://user?id=1)'],
    [
      'a link with markup in its address',
      '[a](<https://x.example/a|b>c> d>)',
      '[a](https://x.example/a|bc> d>)',
    ],
    ['a link to somewhere near', '[a](/b)', 'a (/b)'],
    ['a list', '- a\n- b\n\n  c\n- d', '- a\n- b\n\n  c\n- d'],
    ['a numbered list', '3. a\n4. b', '3. a\n4. b'],
    ['nested lists', '- a\n  - b\n    - c\n      1. d', '- a\n  - b\n    - c\n      1. d'],
    ['tasks', '- [x] a\n- [ ] b', '☑ a\n☐ b'],
    ['a list with paragraphs between', '- a\n\n- b', '- a\n\n- b'],
    ['code in a list', '1. a\n\n   ```\n   b\n   ```', '1. a\n\n```\nb\n```'],
    ['a quotation', '> a\n> **b**\n>\n> c', '> a\n> *b*\n>\n> c'],
    ['a quotation in a quotation', '> a\n>\n> > b', '> a\n>\n> b'],
    ['a list in a quotation', '> - a\n> - b', '> - a\n> - b'],
    ['two quotations', '> a\n\n<!-- -->\n\n> b', '> a\n\n<!-- -->\n\n> b'],
    ['a code block', '```ts\nif (a < b) {\n    c("&");\n}\n```', '```\nif (a < b) {\n    c("&");\n}\n```'],
    ['a code block of no language', '    a\n      b', '```\na\n  b\n```'],
    ['a code block with a fence', '````\n```\na\n```\n````', '```\n``\u200b`\na\n``\u200b`\n```'],
    ['code with a backtick', '`` a`b ``', '`aˋb`'],
    [
      'a table',
      '| Name | n |\n|:--|--:|\n| **a** | [b](https://x.example) |\n| 日本 | `c` |',
      '*Name* | *n*\n*a* | b (https://x.example)\n日本 | `c`',
    ],
    ['a footnote', 'a[^1]\n\n[^1]: b', 'a[1]\n\n[1] b'],
    [
      'HTML',
      '<b>a</b> <script>b</script>\n\n<div>**c**</div>',
      '<b>a</b> <script>b</script>\n\n<div>*c*</div>',
    ],
    ['entities', '&lt;b&gt; &amp;amp; &copy;', '<b> &amp; ©'],
    ['special characters', 'a < b & c > d "e"', 'a < b & c > d "e"'],
    [
      'signs that mean nothing',
      '2 * 3 * 4, snake_case_name, ~5, *.ts, a* b',
      '2 * 3 * 4, snake_case_name, ~5, _.ts, a_ b',
    ],
    ['signs that would pair', '\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`', '∗a∗ ˍbˍ ∼c∼ ˋdˋ'],
    ['a sign beside a mark', '**a** \\*b', '*a* ∗b'],
    ['a line that begins like a quotation', '\\> a\n2 > 1', '\u2060> a\n2 > 1'],
    [
      'mass mentions',
      '@here @channel @everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@g> <@U1> <#C1>',
      '@\u2060here @\u2060channel @\u2060everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@\u2060g> <@\u2060U1> <#C1>',
    ],
    [
      'mention of a user',
      'ask @anna_b, or (@4915112345) or x@y.example',
      'ask @\u2060anna_b, or (@\u20604915112345) or x@y.example',
    ],
    ['mention in bold', 'x**@here**', 'x∗∗@\u2060here∗∗'],
    ['mention in a link', '[@here](https://x.example)', '@\u2060here (https://x.example)'],
    ['mention in code', '`@here`', '`@here`'],
    ['text from right to left', 'שלום **עולם** a\u202eb', 'שלום *עולם* ab'],
    ['emoji', '👨‍👩‍👧‍👦 **👍🏽**', '👨‍👩‍👧‍👦 *👍🏽*'],
    ['what is not closed', '**a `b [c](d', '**a `b [c](d'],
  ])('has %s', (_title, markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });

  it('is split at 4,096 characters, marks included', () => {
    const messages = render(`${'**a b** '.repeat(50)}\n\n`.repeat(30));
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) {
      expect(message.length).toBeLessThanOrEqual(4096);
      expect(message.match(/\*/g)?.length).toSatisfy((count: number) => count % 2 === 0);
    }
  });
});
