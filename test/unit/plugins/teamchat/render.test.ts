import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/teamchat/render.ts';

describe('a reply on teamchat', () => {
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
    ['a link', '[a **b**](https://x.example/?a=1&b=2 "t")', '<https://x.example/?a=1&amp;b=2|a b>'],
    ['a link in bold', '**see [a](https://x.example)**', '*see <https://x.example|a>*'],
    [
      'a link by reference',
      '[a][r] [r]\n\n[r]: https://x.example',
      '<https://x.example|a> <https://x.example|r>',
    ],
    [
      'an address',
      'https://x.example/a_b_c?d=1&e=@f <https://y.example>',
      '<https://x.example/a_b_c?d=1&amp;e=@f|https://x.example/a_b_c?d=1&amp;e=@f> <https://y.example|https://y.example>',
    ],
    ['a mail address', 'write to a.b@x.example', 'write to <mailto:a.b@x.example|a.b@x.example>'],
    ['a mail link', '[us](mailto:a@x.example)', '<mailto:a@x.example|us>'],
    [
      'an image',
      '![a](https://x.example/i.png) ![](https://x.example/i.png)',
      '<https://x.example/i.png|a> <https://x.example/i.png|https://x.example/i.png>',
    ],
    ['a link that runs a program', '[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['a link to a person of the platform', '[a](tg://user?id=1)', 'a (tg://user?id=1)'],
    [
      'a link with markup in its address',
      '[a](<https://x.example/a|b>c> d>)',
      '[a](<https://x.example/a%7Cb|https://x.example/a|b>c&gt; d&gt;)',
    ],
    ['a link to somewhere near', '[a](/b)', 'a (/b)'],
    ['a list', '- a\n- b\n\n  c\n- d', '• a\n• b\n\n  c\n• d'],
    ['a numbered list', '3. a\n4. b', '3. a\n4. b'],
    ['nested lists', '- a\n  - b\n    - c\n      1. d', '• a\n  ◦ b\n    ▪ c\n      1. d'],
    ['tasks', '- [x] a\n- [ ] b', '☑ a\n☐ b'],
    ['a list with paragraphs between', '- a\n\n- b', '• a\n\n• b'],
    ['code in a list', '1. a\n\n   ```\n   b\n   ```', '1. a\n\n```\nb\n```'],
    ['a quotation', '> a\n> **b**\n>\n> c', '> a\n> *b*\n>\n> c'],
    ['a quotation in a quotation', '> a\n>\n> > b', '> a\n>\n> b'],
    ['a list in a quotation', '> - a\n> - b', '> • a\n> • b'],
    ['two quotations', '> a\n\n<!-- -->\n\n> b', '> a\n\n&lt;!-- --&gt;\n\n> b'],
    [
      'a code block',
      '```ts\nif (a < b) {\n    c("&");\n}\n```',
      '```\nif (a &lt; b) {\n    c("&amp;");\n}\n```',
    ],
    ['a code block of no language', '    a\n      b', '```\na\n  b\n```'],
    ['a code block with a fence', '````\n```\na\n```\n````', '```\n``\u200b`\na\n``\u200b`\n```'],
    ['code with a backtick', '`` a`b ``', '`aˋb`'],
    [
      'a table',
      '| Name | n |\n|:--|--:|\n| **a** | [b](https://x.example) |\n| 日本 | `c` |',
      '```\nName | n\n-----+----------------------\na    | b (https://x.example)\n日本 | c\n```',
    ],
    ['a footnote', 'a[^1]\n\n[^1]: b', 'a[1]\n\n[1] b'],
    [
      'HTML',
      '<b>a</b> <script>b</script>\n\n<div>**c**</div>',
      '&lt;b&gt;a&lt;/b&gt; &lt;script&gt;b&lt;/script&gt;\n\n&lt;div&gt;*c*&lt;/div&gt;',
    ],
    ['entities', '&lt;b&gt; &amp;amp; &copy;', '&lt;b&gt; &amp;amp; ©'],
    ['special characters', 'a < b & c > d "e"', 'a &lt; b &amp; c &gt; d "e"'],
    [
      'signs that mean nothing',
      '2 * 3 * 4, snake_case_name, ~5, *.ts, a* b',
      '2 * 3 * 4, snake_case_name, ~5, _.ts, a_ b',
    ],
    ['signs that would pair', '\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`', '∗a∗ ˍbˍ ∼c∼ ˋdˋ'],
    ['a sign beside a mark', '**a** \\*b', '*a* ∗b'],
    ['a line that begins like a quotation', '\\> a\n2 > 1', '\u2060&gt; a\n2 &gt; 1'],
    [
      'mass mentions',
      '@here @channel @everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@g> <@U1> <#C1>',
      '@\u2060here @\u2060channel @\u2060everyone &lt;!channel&gt; &lt;!here&gt; &lt;!everyone|x&gt; &lt;!subteam^S1|@\u2060g&gt; &lt;@\u2060U1&gt; &lt;#C1&gt;',
    ],
    [
      'mention of a user',
      'ask @anna_b, or (@4915112345) or x@y.example',
      'ask @\u2060anna_b, or (@\u20604915112345) or <mailto:x@y.example|x@y.example>',
    ],
    ['mention in bold', 'x**@here**', 'x∗∗@\u2060here∗∗'],
    ['mention in a link', '[@here](https://x.example)', '<https://x.example|@\u2060here>'],
    ['mention in code', '`@here`', '`@here`'],
    ['text from right to left', 'שלום **עולם** a\u202eb', 'שלום *עולם* ab'],
    ['emoji', '👨‍👩‍👧‍👦 **👍🏽**', '👨‍👩‍👧‍👦 *👍🏽*'],
    ['what is not closed', '**a `b [c](d', '**a `b [c](d'],
  ])('has %s', (_title, markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });

  it('is split at 4,000 characters, escapes and marks included', () => {
    const messages = render(`${'**a & b** '.repeat(50)}\n\n`.repeat(30));
    expect(messages.length).toBeGreaterThan(3);
    for (const message of messages) {
      expect(message.length).toBeLessThanOrEqual(4000);
      expect(message.replaceAll('&amp;', '')).not.toContain('&');
      expect(message.match(/\*/g)?.length).toSatisfy((count: number) => count % 2 === 0);
    }
  });

  it('opens no mention that the platform would resolve', () => {
    const text = ['<!here>', '<@U1>', '<!subteam^S1>', '<#C1|x>'].map(
      (one) => `${one} **${one}** \`${one}\` [${one}](https://x.example) # ${one}`,
    );
    for (const message of render(text.join('\n\n'))) expect(message).not.toMatch(/<[!@#]/);
  });
});
