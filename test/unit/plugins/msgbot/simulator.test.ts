import { Api, Bot, type Context, GrammyError, webhookCallback } from 'grammy';
import type { Update, UserFromGetMe } from 'grammy/types';
import { beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../../../plugins/msgbot/index.ts';
import type { SimulatedEvent } from '../../../../src/channel/index.ts';
import { FakePlatform } from '../../../support/fake-platform.ts';

// These tests check the simulator with the platform's client library, which reads the real format of the platform.

let platform: FakePlatform;
let token: string;
let api: Api;

beforeEach(async () => {
  platform = await FakePlatform.start(msgbot);
  token = platform.env.MSGBOT_BOT_TOKEN ?? '';
  api = new Api(token, { apiRoot: platform.url });
});

/**
 * Delivers a simulated event to a webhook of the client library.
 * @returns the status, and the contexts that the handlers of the webhook got
 */
async function received(given: Partial<SimulatedEvent>): Promise<{ status: number; contexts: Context[] }> {
  const contexts: Context[] = [];
  const me = (await api.getMe()) as UserFromGetMe;
  const bot = new Bot(token, { botInfo: me, client: { apiRoot: platform.url } });
  bot.use((context) => void contexts.push(context));
  const take = webhookCallback(bot, 'std/http', { secretToken: platform.env.MSGBOT_WEBHOOK_SECRET ?? '' });
  const { path, ...request } = platform.simulator.delivery(platform.event(given), platform.settings);
  const response = await take(new Request(`http://bot.example${path}`, request));
  return { status: response.status, contexts };
}

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof GrammyError ? [error.error_code, error.description] : error),
  );

describe('a simulated delivery, as the client library of the platform reads it', () => {
  it('can be a text of a person in a private chat', async () => {
    const { status, contexts } = await received({ text: 'hello', user_name: 'Ada Lovelace', number: 7 });
    expect(status).toBe(200);
    const [context] = contexts;
    expect(context?.has('message:text')).toBe(true);
    expect(context?.hasChatType('private')).toBe(true);
    expect(context?.from).toMatchObject({
      id: 5550111,
      is_bot: false,
      first_name: 'Ada',
      last_name: 'Lovelace',
    });
    expect(context?.chat).toMatchObject({ id: 5550111, type: 'private', first_name: 'Ada' });
    expect(context?.msg).toMatchObject({ message_id: 7, text: 'hello' });
  });

  it('can be a command', async () => {
    const { contexts } = await received({ kind: 'command', text: '/service_auth off' });
    expect(contexts[0]?.hasCommand('service_auth')).toBe(true);
    expect(contexts[0]?.has('message:entities:bot_command')).toBe(true);
  });

  it('can mention the bot by its name in a topic of a group', async () => {
    const { contexts } = await received({ place: 'group', text: '👍 hello', thread: 'mill' });
    const [context] = contexts;
    expect(context?.hasChatType('supergroup')).toBe(true);
    expect(context?.entities('mention').map(({ text }) => text)).toEqual(['@agentd_bot']);
    expect(context?.msg?.is_topic_message).toBe(true);
    const again = await received({ place: 'group', text: 'more', thread: 'mill' });
    expect(again.contexts[0]?.msg?.message_thread_id).toBe(context?.msg?.message_thread_id);
    const command = await received({ place: 'group', kind: 'command', text: '/weather London' });
    expect(command.contexts[0]?.hasCommand('weather')).toBe(true);
    expect(command.contexts[0]?.msg?.text).toBe('/weather@agentd_bot London');
  });

  it('can be an edit of the same message, in a separate update', async () => {
    const first = await received({ text: 'one', number: 3 });
    const repeated = await received({ text: 'one', number: 3 });
    const edit = await received({ kind: 'edit', text: 'two', number: 3 });
    expect(edit.contexts[0]?.has('edited_message:text')).toBe(true);
    expect(edit.contexts[0]?.msgId).toBe(first.contexts[0]?.msgId);
    expect(repeated.contexts[0]?.update.update_id).toBe(first.contexts[0]?.update.update_id);
    expect(edit.contexts[0]?.update.update_id).not.toBe(first.contexts[0]?.update.update_id);
  });

  it('can be a picture, or the status of the bot in a chat', async () => {
    const picture = await received({ kind: 'other' });
    expect(picture.contexts[0]?.has('message:photo')).toBe(true);
    const status = await received({ kind: 'status' });
    expect(status.contexts[0]?.has('my_chat_member')).toBe(true);
    const update: Update | undefined = status.contexts[0]?.update;
    expect(update?.my_chat_member?.new_chat_member.status).toBe('kicked');
  });

  it('is refused if its secret is wrong', async () => {
    expect(await received({ bad_signature: true })).toEqual({ status: 401, contexts: [] });
  });

  it('has a numeric user id even if the event names a person by a word', async () => {
    const [ada, again, bob] = await Promise.all(['ada', 'ada', 'bob'].map((user) => received({ user })));
    expect(ada?.contexts[0]?.from?.id).toBeGreaterThan(0);
    expect(again?.contexts[0]?.from?.id).toBe(ada?.contexts[0]?.from?.id);
    expect(bob?.contexts[0]?.from?.id).not.toBe(ada?.contexts[0]?.from?.id);
  });
});

describe('the simulated Bot API, as the client library of the platform calls it', () => {
  it('returns its bot', async () => {
    expect(await api.getMe()).toMatchObject({ id: 5550100, is_bot: true, username: 'agentd_bot' });
  });

  it('accepts a text with markup, and shows it', async () => {
    const html =
      '<b>Hi</b> &amp; <a href="https://example.com/?a=1&amp;b=2">there</a> 👍 <pre><code class="language-ts">x &lt; 1</code></pre>';
    const sent = await api.sendMessage(-1005550100, html, { parse_mode: 'HTML', message_thread_id: 4 });
    expect(sent).toMatchObject({
      text: 'Hi & there 👍 x < 1',
      chat: { type: 'supergroup' },
      message_thread_id: 4,
    });
    expect(sent.entities).toEqual([
      { type: 'bold', offset: 0, length: 2 },
      { type: 'text_link', offset: 5, length: 5, url: 'https://example.com/?a=1&b=2' },
      { type: 'pre', offset: 14, length: 5, language: 'ts' },
    ]);
    expect(platform.shown).toEqual([{ what: 'message', to: '-1005550100', thread: '4', text: html }]);
  });

  it('shows that the bot is typing', async () => {
    expect(await api.sendChatAction(5550111, 'typing')).toBe(true);
    expect(platform.shown).toEqual([{ what: 'typing', to: '5550111', text: '' }]);
  });

  it('deletes messages that the bot may delete, and each only once', async () => {
    expect(await api.deleteMessage(5550111, 7)).toBe(true);
    expect(await refusalOf(api.deleteMessage(5550111, 7))).toEqual([
      400,
      'Bad Request: message to delete not found',
    ]);
    expect(await refusalOf(api.deleteMessage(-1005550100, 7))).toEqual([
      400,
      "Bad Request: message can't be deleted",
    ]);
    const own = await api.sendMessage(-1005550100, 'hello');
    expect(await api.deleteMessage(-1005550100, own.message_id)).toBe(true);
  });

  it.each([
    ['an empty text', () => api.sendMessage(5550111, ' '), 'message text is empty'],
    ['a text that is too long', () => api.sendMessage(5550111, 'a'.repeat(4097)), 'message is too long'],
    ['no chat', () => api.sendMessage('', 'hello'), 'chat_id is empty'],
    ['an unknown chat', () => api.sendMessage('@nobody', 'hello'), 'chat not found'],
    [
      'an unknown tag',
      () => api.sendMessage(1, 'a <x>b</x>', { parse_mode: 'HTML' }),
      `can't parse entities: Unsupported start tag "x" at byte offset 2`,
    ],
    [
      'tags that overlap',
      () => api.sendMessage(1, '<b><i>a</b></i>', { parse_mode: 'HTML' }),
      `can't parse entities: Unmatched end tag at byte offset 7, expected "</i>", found "</b>"`,
    ],
    [
      'a tag left open',
      () => api.sendMessage(1, 'é<b>a', { parse_mode: 'HTML' }),
      `can't parse entities: Can't find end tag corresponding to start tag "b"`,
    ],
    [
      'an unescaped angle bracket',
      () => api.sendMessage(1, 'a < b', { parse_mode: 'HTML' }),
      `can't parse entities: Unsupported start tag "" at byte offset 2`,
    ],
    [
      'an unknown action',
      () => api.sendChatAction(1, ('typing' + 'x') as 'typing'),
      'wrong parameter action in request',
    ],
  ])('refuses %s with the error text of the platform', async (_title, call, words) => {
    expect(await refusalOf(call())).toEqual([400, `Bad Request: ${words}`]);
    expect(platform.shown).toEqual([]);
  });

  it('refuses the token of another bot, a malformed token, and unknown methods', async () => {
    const other = (given: string) => new Api(given, { apiRoot: platform.url });
    expect(await refusalOf(other('5550100:another').getMe())).toEqual([401, 'Unauthorized']);
    expect(await refusalOf(other('no-token').getMe())).toEqual([404, 'Not Found']);
    expect(await refusalOf(api.getUpdates())).toEqual([404, 'Not Found: method not found']);
  });
});
