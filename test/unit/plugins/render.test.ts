import { expect, it } from 'vitest';
import { render as renderMsgbot } from '../../../plugins/msgbot/render.ts';
import { render as renderPhonechat } from '../../../plugins/phonechat/render.ts';
import { render as renderTeamchat } from '../../../plugins/teamchat/render.ts';

/** One Markdown text, and what each platform gets of it. */
interface Case {
  has: string;
  markdown: string;
  teamchat: string;
  phonechat: string;
  msgbot: string;
}

const CASES: readonly Case[] = [
  {
    has: 'bold',
    markdown: '**a b**',
    teamchat: '*a b*',
    phonechat: '*a b*',
    msgbot: '<b>a b</b>',
  },
  {
    has: 'italic',
    markdown: '*a* _b_',
    teamchat: '_a b_',
    phonechat: '_a b_',
    msgbot: '<i>a b</i>',
  },
  {
    has: 'bold and italic',
    markdown: '***a*** **b *c* d**',
    teamchat: '_*a*_ *b _c_ d*',
    phonechat: '_*a*_ *b _c_ d*',
    msgbot: '<i><b>a</b></i> <b>b <i>c</i> d</b>',
  },
  {
    has: 'struck out',
    markdown: '~~a~~',
    teamchat: '~a~',
    phonechat: '~a~',
    msgbot: '<s>a</s>',
  },
  {
    has: 'code',
    markdown: 'run `a * b` now',
    teamchat: 'run `a * b` now',
    phonechat: 'run `a * b` now',
    msgbot: 'run <code>a * b</code> now',
  },
  {
    has: 'bold within a word',
    markdown: 'foo**bar**baz',
    teamchat: 'foo\u200b*bar*\u200bbaz',
    phonechat: 'foo\u200b*bar*\u200bbaz',
    msgbot: 'foo<b>bar</b>baz',
  },
  {
    has: 'bold over two lines',
    markdown: '**a\nb**',
    teamchat: '*a*\n*b*',
    phonechat: '*a*\n*b*',
    msgbot: '<b>a\nb</b>',
  },
  {
    has: 'code in bold',
    markdown: '**a `b` c**',
    teamchat: '*a* `b` *c*',
    phonechat: '*a* `b` *c*',
    msgbot: '<b>a</b> <code>b</code> <b>c</b>',
  },
  {
    has: 'bold next to italic',
    markdown: '**a***b*',
    teamchat: '*a*\u200b_b_',
    phonechat: '*a*\u200b_b_',
    msgbot: '<b>a</b><i>b</i>',
  },
  {
    has: 'a heading',
    markdown: '# A `b` **c**\ntext',
    teamchat: '*A* `b` *c*\n\ntext',
    phonechat: '*A* `b` *c*\n\ntext',
    msgbot: '<b>A</b> <code>b</code> <b>c</b>\n\ntext',
  },
  {
    has: 'a line break',
    markdown: 'a  \nb\\\nc\nd',
    teamchat: 'a\nb\nc\nd',
    phonechat: 'a\nb\nc\nd',
    msgbot: 'a\nb\nc\nd',
  },
  {
    has: 'a rule',
    markdown: 'a\n\n---\n\nb',
    teamchat: 'a\n\n———\n\nb',
    phonechat: 'a\n\n———\n\nb',
    msgbot: 'a\n\n———\n\nb',
  },
  {
    has: 'a link',
    markdown: '[a **b**](https://x.example/?a=1&b=2 "t")',
    teamchat: '<https://x.example/?a=1&amp;b=2|a b>',
    phonechat: 'a *b* (https://x.example/?a=1&b=2)',
    msgbot: '<a href="https://x.example/?a=1&amp;b=2">a <b>b</b></a>',
  },
  {
    has: 'a link in bold',
    markdown: '**see [a](https://x.example)**',
    teamchat: '*see <https://x.example|a>*',
    phonechat: '*see a (https://x.example)*',
    msgbot: '<b>see <a href="https://x.example">a</a></b>',
  },
  {
    has: 'a link by reference',
    markdown: '[a][r] [r]\n\n[r]: https://x.example',
    teamchat: '<https://x.example|a> <https://x.example|r>',
    phonechat: 'a (https://x.example) r (https://x.example)',
    msgbot: '<a href="https://x.example">a</a> <a href="https://x.example">r</a>',
  },
  {
    has: 'an address',
    markdown: 'https://x.example/a_b_c?d=1&e=@f <https://y.example>',
    teamchat:
      '<https://x.example/a_b_c?d=1&amp;e=@f|https://x.example/a_b_c?d=1&amp;e=@f> <https://y.example|https://y.example>',
    phonechat: 'https://x.example/a_b_c?d=1&e=@f https://y.example',
    msgbot:
      '<a href="https://x.example/a_b_c?d=1&amp;e=@f">https://x.example/a_b_c?d=1&amp;e=@f</a> <a href="https://y.example">https://y.example</a>',
  },
  {
    has: 'a mail address',
    markdown: 'write to a.b@x.example',
    teamchat: 'write to <mailto:a.b@x.example|a.b@x.example>',
    phonechat: 'write to a.b@x.example',
    msgbot: 'write to a.b@x.example',
  },
  {
    has: 'a mail link',
    markdown: '[us](mailto:a@x.example)',
    teamchat: '<mailto:a@x.example|us>',
    phonechat: 'us (a@x.example)',
    msgbot: 'us (a@x.example)',
  },
  {
    has: 'an image',
    markdown: '![a](https://x.example/i.png) ![](https://x.example/i.png)',
    teamchat: '<https://x.example/i.png|a> <https://x.example/i.png|https://x.example/i.png>',
    phonechat: 'a (https://x.example/i.png) https://x.example/i.png',
    msgbot:
      '<a href="https://x.example/i.png">a</a> <a href="https://x.example/i.png">https://x.example/i.png</a>',
  },
  {
    has: 'a link that runs a program',
    markdown: '[a](javascript:alert(1))',
    teamchat: 'a (javascript:alert(1))',
    phonechat: 'a (javascript:alert(1))',
    msgbot: 'a (javascript:alert(1))',
  },
  {
    has: 'a link to a person of the platform',
    markdown: '[a](tg://user?id=1)',
    teamchat: 'a (tg://user?id=1)',
    phonechat: 'a (tg://user?id=1)',
    msgbot: 'a (tg://user?id=1)',
  },
  {
    has: 'a link with markup in its address',
    markdown: '[a](<https://x.example/a|b>c> d>)',
    teamchat: '[a](<https://x.example/a%7Cb|https://x.example/a|b>c&gt; d&gt;)',
    phonechat: '[a](https://x.example/a|bc> d>)',
    msgbot: '[a](<a href="https://x.example/a%7Cb">https://x.example/a|b</a>c&gt; d&gt;)',
  },
  {
    has: 'a link to somewhere near',
    markdown: '[a](/b)',
    teamchat: 'a (/b)',
    phonechat: 'a (/b)',
    msgbot: 'a (/b)',
  },
  {
    has: 'a list',
    markdown: '- a\n- b\n\n  c\n- d',
    teamchat: '• a\n• b\n\n  c\n• d',
    phonechat: '- a\n- b\n\n  c\n- d',
    msgbot: '• a\n• b\n\n  c\n• d',
  },
  {
    has: 'a numbered list',
    markdown: '3. a\n4. b',
    teamchat: '3. a\n4. b',
    phonechat: '3. a\n4. b',
    msgbot: '3. a\n4. b',
  },
  {
    has: 'nested lists',
    markdown: '- a\n  - b\n    - c\n      1. d',
    teamchat: '• a\n  ◦ b\n    ▪ c\n      1. d',
    phonechat: '- a\n  - b\n    - c\n      1. d',
    msgbot: '• a\n  ◦ b\n    ▪ c\n      1. d',
  },
  {
    has: 'tasks',
    markdown: '- [x] a\n- [ ] b',
    teamchat: '☑ a\n☐ b',
    phonechat: '☑ a\n☐ b',
    msgbot: '☑ a\n☐ b',
  },
  {
    has: 'a list with paragraphs between',
    markdown: '- a\n\n- b',
    teamchat: '• a\n\n• b',
    phonechat: '- a\n\n- b',
    msgbot: '• a\n\n• b',
  },
  {
    has: 'code in a list',
    markdown: '1. a\n\n   ```\n   b\n   ```',
    teamchat: '1. a\n\n```\nb\n```',
    phonechat: '1. a\n\n```\nb\n```',
    msgbot: '1. a\n\n<pre>b</pre>',
  },
  {
    has: 'a quotation',
    markdown: '> a\n> **b**\n>\n> c',
    teamchat: '> a\n> *b*\n>\n> c',
    phonechat: '> a\n> *b*\n>\n> c',
    msgbot: '<blockquote>a\n<b>b</b>\n\nc</blockquote>',
  },
  {
    has: 'a quotation in a quotation',
    markdown: '> a\n>\n> > b',
    teamchat: '> a\n>\n> b',
    phonechat: '> a\n>\n> b',
    msgbot: '<blockquote>a\n\nb</blockquote>',
  },
  {
    has: 'a list in a quotation',
    markdown: '> - a\n> - b',
    teamchat: '> • a\n> • b',
    phonechat: '> - a\n> - b',
    msgbot: '<blockquote>• a\n• b</blockquote>',
  },
  {
    has: 'two quotations',
    markdown: '> a\n\n<!-- -->\n\n> b',
    teamchat: '> a\n\n&lt;!-- --&gt;\n\n> b',
    phonechat: '> a\n\n<!-- -->\n\n> b',
    msgbot: '<blockquote>a</blockquote>\n\n&lt;!-- --&gt;\n\n<blockquote>b</blockquote>',
  },
  {
    has: 'a code block',
    markdown: '```ts\nif (a < b) {\n    c("&");\n}\n```',
    teamchat: '```\nif (a &lt; b) {\n    c("&amp;");\n}\n```',
    phonechat: '```\nif (a < b) {\n    c("&");\n}\n```',
    msgbot: '<pre><code class="language-ts">if (a &lt; b) {\n    c(&quot;&amp;&quot;);\n}</code></pre>',
  },
  {
    has: 'a code block of no language',
    markdown: '    a\n      b',
    teamchat: '```\na\n  b\n```',
    phonechat: '```\na\n  b\n```',
    msgbot: '<pre>a\n  b</pre>',
  },
  {
    has: 'a code block with a fence',
    markdown: '````\n```\na\n```\n````',
    teamchat: '```\n``\u200b`\na\n``\u200b`\n```',
    phonechat: '```\n``\u200b`\na\n``\u200b`\n```',
    msgbot: '<pre>```\na\n```</pre>',
  },
  {
    has: 'code with a backtick',
    markdown: '`` a`b ``',
    teamchat: '`aˋb`',
    phonechat: '`aˋb`',
    msgbot: '<code>a`b</code>',
  },
  {
    has: 'a table',
    markdown: '| Name | n |\n|:--|--:|\n| **a** | [b](https://x.example) |\n| 日本 | `c` |',
    teamchat: '```\nName | n\n-----+----------------------\na    | b (https://x.example)\n日本 | c\n```',
    phonechat: '*Name* | *n*\n*a* | b (https://x.example)\n日本 | `c`',
    msgbot: '<pre>Name | n\n-----+----------------------\na    | b (https://x.example)\n日本 | c</pre>',
  },
  {
    has: 'a footnote',
    markdown: 'a[^1]\n\n[^1]: b',
    teamchat: 'a[1]\n\n[1] b',
    phonechat: 'a[1]\n\n[1] b',
    msgbot: 'a[1]\n\n[1] b',
  },
  {
    has: 'HTML',
    markdown: '<b>a</b> <script>b</script>\n\n<div>**c**</div>',
    teamchat: '&lt;b&gt;a&lt;/b&gt; &lt;script&gt;b&lt;/script&gt;\n\n&lt;div&gt;*c*&lt;/div&gt;',
    phonechat: '<b>a</b> <script>b</script>\n\n<div>*c*</div>',
    msgbot: '&lt;b&gt;a&lt;/b&gt; &lt;script&gt;b&lt;/script&gt;\n\n&lt;div&gt;<b>c</b>&lt;/div&gt;',
  },
  {
    has: 'entities',
    markdown: '&lt;b&gt; &amp;amp; &copy;',
    teamchat: '&lt;b&gt; &amp;amp; ©',
    phonechat: '<b> &amp; ©',
    msgbot: '&lt;b&gt; &amp;amp; ©',
  },
  {
    has: 'special characters',
    markdown: 'a < b & c > d "e"',
    teamchat: 'a &lt; b &amp; c &gt; d "e"',
    phonechat: 'a < b & c > d "e"',
    msgbot: 'a &lt; b &amp; c &gt; d &quot;e&quot;',
  },
  {
    has: 'signs that mean nothing',
    markdown: '2 * 3 * 4, snake_case_name, ~5, *.ts, a* b',
    teamchat: '2 * 3 * 4, snake_case_name, ~5, _.ts, a_ b',
    phonechat: '2 * 3 * 4, snake_case_name, ~5, _.ts, a_ b',
    msgbot: '2 * 3 * 4, snake_case_name, ~5, <i>.ts, a</i> b',
  },
  {
    has: 'signs that would pair',
    markdown: '\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`',
    teamchat: '∗a∗ ˍbˍ ∼c∼ ˋdˋ',
    phonechat: '∗a∗ ˍbˍ ∼c∼ ˋdˋ',
    msgbot: '*a* _b_ ~c~ `d`',
  },
  {
    has: 'a sign beside a mark',
    markdown: '**a** \\*b',
    teamchat: '*a* ∗b',
    phonechat: '*a* ∗b',
    msgbot: '<b>a</b> *b',
  },
  {
    has: 'a line that begins like a quotation',
    markdown: '\\> a\n2 > 1',
    teamchat: '\u2060&gt; a\n2 &gt; 1',
    phonechat: '\u2060> a\n2 > 1',
    msgbot: '&gt; a\n2 &gt; 1',
  },
  {
    has: 'mass mentions',
    markdown: '@here @channel @everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@g> <@U1> <#C1>',
    teamchat:
      '@\u2060here @\u2060channel @\u2060everyone &lt;!channel&gt; &lt;!here&gt; &lt;!everyone|x&gt; &lt;!subteam^S1|@\u2060g&gt; &lt;@\u2060U1&gt; &lt;#C1&gt;',
    phonechat:
      '@\u2060here @\u2060channel @\u2060everyone <!channel> <!here> <!everyone|x> <!subteam^S1|@\u2060g> <@\u2060U1> <#C1>',
    msgbot:
      '@\u2060here @\u2060channel @\u2060everyone &lt;!channel&gt; &lt;!here&gt; &lt;!everyone|x&gt; &lt;!subteam^S1|@\u2060g&gt; &lt;@\u2060U1&gt; &lt;#C1&gt;',
  },
  {
    has: 'mention of a user',
    markdown: 'ask @anna_b, or (@4915112345) or x@y.example',
    teamchat: 'ask @\u2060anna_b, or (@\u20604915112345) or <mailto:x@y.example|x@y.example>',
    phonechat: 'ask @\u2060anna_b, or (@\u20604915112345) or x@y.example',
    msgbot: 'ask @\u2060anna_b, or (@\u20604915112345) or x@y.example',
  },
  {
    has: 'mention in bold',
    markdown: 'x**@here**',
    teamchat: 'x∗∗@\u2060here∗∗',
    phonechat: 'x∗∗@\u2060here∗∗',
    msgbot: 'x**@\u2060here**',
  },
  {
    has: 'mention in a link',
    markdown: '[@here](https://x.example)',
    teamchat: '<https://x.example|@\u2060here>',
    phonechat: '@\u2060here (https://x.example)',
    msgbot: '<a href="https://x.example">@\u2060here</a>',
  },
  {
    has: 'mention in code',
    markdown: '`@here`',
    teamchat: '`@here`',
    phonechat: '`@here`',
    msgbot: '<code>@here</code>',
  },
  {
    has: 'text from right to left',
    markdown: 'שלום **עולם** a\u202eb',
    teamchat: 'שלום *עולם* ab',
    phonechat: 'שלום *עולם* ab',
    msgbot: 'שלום <b>עולם</b> ab',
  },
  {
    has: 'emoji',
    markdown: '👨‍👩‍👧‍👦 **👍🏽**',
    teamchat: '👨‍👩‍👧‍👦 *👍🏽*',
    phonechat: '👨‍👩‍👧‍👦 *👍🏽*',
    msgbot: '👨‍👩‍👧‍👦 <b>👍🏽</b>',
  },
  {
    has: 'what is not closed',
    markdown: '**a `b [c](d',
    teamchat: '**a `b [c](d',
    phonechat: '**a `b [c](d',
    msgbot: '**a `b [c](d',
  },
];

it.each(CASES)(
  'a reply that has $has is written as each platform reads it',
  ({ markdown, teamchat, phonechat, msgbot }) => {
    expect({
      teamchat: renderTeamchat(markdown),
      phonechat: renderPhonechat(markdown),
      msgbot: renderMsgbot(markdown),
    }).toEqual({ teamchat: [teamchat], phonechat: [phonechat], msgbot: [msgbot] });
  },
);
