import { describe, expect, it } from 'vitest';
import { render } from '../../../../plugins/msgbot/render.ts';

describe('a reply on msgbot', () => {
  it.each([
    ['bold', '**a b**', '<b>a b</b>'],
    ['italic', '*a* _b_', '<i>a b</i>'],
    ['bold and italic', '***a*** **b *c* d**', '<i><b>a</b></i> <b>b <i>c</i> d</b>'],
    ['struck out', '~~a~~', '<s>a</s>'],
    ['code', 'run `a * b` now', 'run <code>a * b</code> now'],
    ['bold within a word', 'foo**bar**baz', 'foo<b>bar</b>baz'],
    ['bold over two lines', '**a\nb**', '<b>a\nb</b>'],
    ['code in bold', '**a `b` c**', '<b>a</b> <code>b</code> <b>c</b>'],
    ['bold next to italic', '**a***b*', '<b>a</b><i>b</i>'],
    ['a heading', '# A `b` **c**\ntext', '<b>A</b> <code>b</code> <b>c</b>\n\ntext'],
    ['a line break', 'a  \nb\\\nc\nd', 'a\nb\nc\nd'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
    [
      'a link',
      '[a **b**](https://x.example/?a=1&b=2 "t")',
      '<a href="https://x.example/?a=1&amp;b=2">a <b>b</b></a>',
    ],
    ['a link in bold', '**see [a](https://x.example)**', '<b>see <a href="https://x.example">a</a></b>'],
    [
      'a link by reference',
      '[a][r] [r]\n\n[r]: https://x.example',
      '<a href="https://x.example">a</a> <a href="https://x.example">r</a>',
    ],
    [
      'an address',
      'https://x.example/a_b_c?d=1&e=@f <https://y.example>',
      '<a href="https://x.example/a_b_c?d=1&amp;e=@f">https://x.example/a_b_c?d=1&amp;e=@f</a> <a href="https://y.example">https://y.example</a>',
    ],
    ['a mail address', 'write to a.b@x.example', 'write to a.b@x.example'],
    ['a mail link', '[us](mailto:a@x.example)', 'us (a@x.example)'],
    [
      'an image',
      '![a](https://x.example/i.png) ![](https://x.example/i.png)',
      '<a href="https://x.example/i.png">a</a> <a href="https://x.example/i.png">https://x.example/i.png</a>',
    ],
    ['a link that runs a program', '[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['a link to a person of the platform', '[a](tg://user?id=1)', 'a (tg://user?id=1)'],
    [
      'a link with markup in its address',
      '[a](<https://x.example/a|b>c> d>)',
      '[a](<a href="https://x.example/a%7Cb">https://x.example/a|b</a>c&gt; d&gt;)',
    ],
    ['a link to somewhere near', '[a](/b)', 'a (/b)'],
    ['a list', '- a\n- b\n\n  c\n- d', '• a\n• b\n\n  c\n• d'],
    ['a numbered list', '3. a\n4. b', '3. a\n4. b'],
    ['nested lists', '- a\n  - b\n    - c\n      1. d', '• a\n  ◦ b\n    ▪ c\n      1. d'],
    ['tasks', '- [x] a\n- [ ] b', '☑ a\n☐ b'],
    ['a list with paragraphs between', '- a\n\n- b', '• a\n\n• b'],
    ['code in a list', '1. a\n\n   ```\n   b\n   ```', '1. a\n\n<pre>b</pre>'],
    ['a quotation', '> a\n> **b**\n>\n> c', '<blockquote>a\n<b>b</b>\n\nc</blockquote>'],
    ['a quotation in a quotation', '> a\n>\n> > b', '<blockquote>a\n\nb</blockquote>'],
    ['a list in a quotation', '> - a\n> - b', '<blockquote>• a\n• b</blockquote>'],
    [
      'two quotations',
      '> a\n\n<!-- -->\n\n> b',
      '<blockquote>a</blockquote>\n\n&lt;!-- --&gt;\n\n<blockquote>b</blockquote>',
    ],
    [
      'a code block',
      '```ts\nif (a < b) {\n    c("&");\n}\n```',
      '<pre><code class="language-ts">if (a &lt; b) {\n    c(&quot;&amp;&quot;);\n}</code></pre>',
    ],
    ['a code block of no language', '    a\n      b', '<pre>a\n  b</pre>'],
    ['a code block with a fence', '````\n```\na\n```\n````', '<pre>```\na\n```</pre>'],
    ['code with a backtick', '`` a`b ``', '<code>a`b</code>'],
    [
      'a table',
      '| Name | n |\n|:--|--:|\n| **a** | [b](https://x.example) |\n| 日本 | `c` |',
      '<pre>Name | n\n-----+----------------------\na    | b (https://x.example)\n日本 | c</pre>',
    ],
    ['a footnote', 'a[^1]\n\n[^1]: b', 'a[1]\n\n[1] b'],
    [
      'HTML',
      '<b>a</b> <script>b</script>\n\n<div>**c**</div>',
      '&lt;b&gt;a&lt;/b&gt; &lt;script&gt;b&lt;/script&gt;\n\n&lt;div&gt;<b>c</b>&lt;/div&gt;',
    ],
    ['entities', '&lt;b&gt; &amp;amp; &copy;', '&lt;b&gt; &amp;amp; ©'],
    ['special characters', 'a < b & c > d "e"', 'a &lt; b &amp; c &gt; d &quot;e&quot;'],
    [
      'signs that mean nothing',
      '2 * 3 * 4, snake_case_name, ~5, *.ts, a* b',
      '2 * 3 * 4, snake_case_name, ~5, <i>.ts, a</i> b',
    ],
    ['signs that would pair', '\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`', '*a* _b_ ~c~ `d`'],
    ['a sign beside a mark', '**a** \\*b', '<b>a</b> *b'],
    ['a line that begins like a quotation', '\\> a\n2 > 1', '&gt; a\n2 &gt; 1'],
    [
      'mass mentions',
      '@here @channel @everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@g> <@U1> <#C1>',
      '@\u2060here @\u2060channel @\u2060everyone &lt;!channel&gt; &lt;!here&gt; &lt;!everyone|x&gt; &lt;!subteam^S1|@\u2060g&gt; &lt;@\u2060U1&gt; &lt;#C1&gt;',
    ],
    [
      'mention of a user',
      'ask @anna_b, or (@4915112345) or x@y.example',
      'ask @\u2060anna_b, or (@\u20604915112345) or x@y.example',
    ],
    ['mention in bold', 'x**@here**', 'x**@\u2060here**'],
    ['mention in a link', '[@here](https://x.example)', '<a href="https://x.example">@\u2060here</a>'],
    ['mention in code', '`@here`', '<code>@here</code>'],
    ['text from right to left', 'שלום **עולם** a\u202eb', 'שלום <b>עולם</b> ab'],
    ['emoji', '👨‍👩‍👧‍👦 **👍🏽**', '👨‍👩‍👧‍👦 <b>👍🏽</b>'],
    ['what is not closed', '**a `b [c](d', '**a `b [c](d'],
  ])('has %s', (_title, markdown, message) => {
    expect(render(markdown)).toEqual([message]);
  });

  it('is split at 4,096 characters as they are read, tags and escapes not counted', () => {
    const [first = '', ...others] = render(`**${'a&'.repeat(2100)}**`);
    expect(first).toBe(`<b>${'a&amp;'.repeat(2048)}</b>`);
    expect(others).toEqual([`<b>${'a&amp;'.repeat(52)}</b>`]);
  });

  it('has at most 100 entities a message, and no more of them than the platform takes together', () => {
    for (const text of ['**a** b '.repeat(250), `[a](https://x.example/${'p'.repeat(200)}) `.repeat(120)]) {
      const messages = render(text);
      expect(messages.join(' ').match(/<(b|a )/g)?.length).toBe(text.startsWith('*') ? 250 : 120);
      for (const message of messages) {
        expect(message.match(/<(b|a )/g)?.length ?? 0).toBeLessThanOrEqual(100);
        expect(message.match(/<[^>]*>/g)?.join('').length ?? 0).toBeLessThanOrEqual(7000);
      }
    }
  });

  it('names the language of code only where it is a plain word', () => {
    expect(render('```c++\na\n```')).toEqual(['<pre><code class="language-c++">a</code></pre>']);
    expect(render('```"><b>\na\n```')).toEqual(['<pre>a</pre>']);
  });
});
