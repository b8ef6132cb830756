import { describe, expect, it } from 'vitest';
import { renderMsgbot as render } from '../../../support/rendered-replies.ts';

describe('a reply on msgbot', () => {
  it('is split at 4,096 visible characters: tags do not count, and an escaped character counts as one', async () => {
    const [first = '', ...others] = await render(`**${'a&'.repeat(2100)}**`);
    expect(first).toBe(`<b>${'a&amp;'.repeat(2048)}</b>`);
    expect(others).toEqual([`<b>${'a&amp;'.repeat(52)}</b>`]);
  });

  it('has at most 100 entities and 7,000 characters of tags per message, and loses no entity', async () => {
    for (const text of ['**a** b '.repeat(250), `[a](https://x.example/${'p'.repeat(200)}) `.repeat(120)]) {
      const messages = await render(text);
      expect(messages.join(' ').match(/<(b|a )/g)?.length).toBe(text.startsWith('*') ? 250 : 120);
      for (const message of messages) {
        expect(message.match(/<(b|a )/g)?.length ?? 0).toBeLessThanOrEqual(100);
        expect(message.match(/<[^>]*>/g)?.join('').length ?? 0).toBeLessThanOrEqual(7000);
      }
    }
  });

  it('names the language of a code block only if its name consists of letters, digits and `+#._-`', async () => {
    expect(await render('```c++\na\n```')).toEqual(['<pre><code class="language-c++">a</code></pre>']);
    expect(await render('```"><b>\na\n```')).toEqual(['<pre>a</pre>']);
  });
});
