import { expect, it } from 'vitest';
import { readText, withoutMentions } from '../../../../plugins/teamchat/read-text.ts';
import { cpuTime } from '../../../support/cpu-time.ts';

it.each([
  ['plain *bold* _it_ `code`', 'plain *bold* _it_ `code`'],
  ['a &amp; b &lt;c&gt; &amp;lt;', 'a & b <c> &lt;'],
  ['&quot; &nbsp; &amp', '&quot; &nbsp; &amp'],
  ['ask <@U061F7AUR>', 'ask @U061F7AUR'],
  ['ask <@U061F7AUR|ada>', 'ask @ada'],
  ['in <#C024BE7LR|general>', 'in #general'],
  ['in <#C024BE7LR>', 'in #C024BE7LR'],
  ['in <#C024BE7LR|>', 'in #C024BE7LR'],
  ['<!here> and <!channel> and <!everyone>', '@here and @channel and @everyone'],
  ['<!here|here>', '@here'],
  ['<!subteam^SAZ94GDB8|@team>', '@team'],
  ['<!subteam^SAZ94GDB8>', '@SAZ94GDB8'],
  ['<!date^1392734382^{date} at {time}|February 18th>', 'February 18th'],
  ['<!date^1392734382^{date}>', '1392734382'],
  ['<https://example.com/?a=1&amp;b=2>', 'https://example.com/?a=1&b=2'],
  ['<https://example.com|the page>', 'the page (https://example.com)'],
  ['<https://example.com|example.com>', 'https://example.com'],
  ['<http://example.com|http://example.com>', 'http://example.com'],
  ['<https://example.com|a &lt;b&gt; | c>', 'a <b> | c (https://example.com)'],
  ['<mailto:ada@example.com|ada@example.com>', 'ada@example.com'],
  ['<mailto:ada@example.com|Ada>', 'Ada (mailto:ada@example.com)'],
  ['<tel:+15550100|+15550100>', '+15550100'],
  ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['<unclosed <@U1> >', '<unclosed @U1 >'],
  ['a<b and <b>c</b>', 'a<b and <b>c</b>'],
  ['<> <@> <#> <!>', '<> @ # @'],
])('readText reads %j as %j', (markup, text) => {
  expect(readText(markup)).toBe(text);
});

const bot = (user: string) => user === 'UBOT';

it.each([
  ['<@UBOT> hello', 'hello'],
  ['<@UBOT|agentd> hello', 'hello'],
  ['  <@UBOT>: hello', 'hello'],
  ['<@UBOT>, hello', 'hello'],
  ['hello <@UBOT>', 'hello'],
  ['hello <@UBOT>, how are you?', 'hello, how are you?'],
  ['hello <@UBOT> and <@U1>', 'hello and <@U1>'],
  ['hey<@UBOT>you', 'hey you'],
  ['what is it, <@UBOT>?', 'what is it?'],
  ['thanks, <@UBOT>', 'thanks'],
  ['<@UBOT> <@UBOT>', ''],
  ['<@UBOT> one <@UBOT>: two', 'one: two'],
  ['one\n\n<@UBOT> two', 'one two'],
  ['no mention: at all', 'no mention: at all'],
  [': no mention', ': no mention'],
])('withoutMentions removes the mention of the bot from %j', (markup, rest) => {
  expect(withoutMentions(markup, bot)).toBe(rest);
});

it('readText and withoutMentions are fast for long and unusual texts', () => {
  const odd = ['<@', ' ', '<', '&', '<@UBOT>', '<@UBOT|', '&amp;', '<!date^', ' <@UBOT> ', 'x<'];
  for (const piece of odd) {
    const text = piece.repeat(Math.ceil(250_000 / piece.length));
    const took = cpuTime(() => readText(withoutMentions(text, bot)));
    expect(took, JSON.stringify(piece)).toBeLessThan(1000);
  }
});
