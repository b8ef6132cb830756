import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Browser, launch, withoutBrowser } from './browser.ts';
import { FakeChat, problem } from './fake-chat.ts';
import { type Visitor, visit } from './visitor.ts';

/* The rules are in agentd-webchat(7), "Questions". */

const QUESTION = { id: 'action-1', summary: 'Cancel order "1004"', expires_at: '2030-01-01T00:00:00.000Z' };

const HINT = 'Answer with Confirm or Decline';

let chat: FakeChat;
let browser: Browser;

beforeAll(async () => {
  if (withoutBrowser) return;
  chat = await FakeChat.start();
  browser = await launch();
});
beforeEach(() => {
  chat?.reset();
  if (chat) chat.script = asks;
});
afterEach(() => browser?.leave());
afterAll(async () => {
  await browser?.close();
  await chat?.stop();
});

/**
 * Asks for confirmation if the message is "cancel", and then says what the visitor decided. Repeats any other message.
 */
const asks: FakeChat['script'] = (run) => {
  const { confirm } = run.body.metadata as { confirm?: { approve: boolean } };
  if (confirm) run.say(confirm.approve ? 'It is done.' : 'Not done.');
  else if (run.body.message === 'cancel') {
    run.say('Please confirm: Cancel order "1004".');
    run.event('confirmation', QUESTION);
  } else run.say(`You said: ${String(run.body.message)}`);
  run.end();
};

const buttons = (visitor: Visitor) => visitor.chat.getByRole('group', { name: HINT });
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();

async function asked(): Promise<Visitor> {
  const visitor = await visit(browser.context, chat.url);
  await visitor.say('cancel');
  await buttons(visitor).waitFor();
  return visitor;
}

describe.skipIf(withoutBrowser)('a question that asks for confirmation', () => {
  it('has a button that confirms and a button that declines', async () => {
    const visitor = await asked();
    expect(await buttons(visitor).getByRole('button').allTextContents()).toEqual(['Confirm', 'Decline']);
    await buttons(visitor).getByRole('button', { name: 'Confirm' }).click();
    await shows(visitor, 'It is done.');
    expect(chat.received.at(-1)?.body).toMatchObject({
      message: '',
      metadata: { confirm: { id: 'action-1', approve: true } },
      session_id: chat.lastRun.session_id,
    });
    expect(await visitor.chat.locator('.visitor .body').last().textContent()).toBe('Confirm');
    expect(await buttons(visitor).count()).toBe(0);
    expect(visitor.complaints).toEqual([]);
  });

  it('sends a refusal when the visitor clicks the second button', async () => {
    const visitor = await asked();
    await buttons(visitor).getByRole('button', { name: 'Decline' }).click();
    await shows(visitor, 'Not done.');
    expect(chat.received.at(-1)?.body).toMatchObject({ metadata: { confirm: { approve: false } } });
  });

  it('can be reached and answered with the keyboard, and the focus returns to the field', async () => {
    const visitor = await asked();
    await visitor.field.focus();
    await visitor.page.keyboard.press('Shift+Tab');
    expect(await focused(visitor)).toBe('Decline');
    await visitor.page.keyboard.press('Shift+Tab');
    expect(await focused(visitor)).toBe('Confirm');
    await visitor.page.keyboard.press('Enter');
    await shows(visitor, 'It is done.');
    expect(
      await visitor.field.evaluate((field) => field === (field.getRootNode() as ShadowRoot).activeElement),
    ).toBe(true);
  });

  it('is announced to screen readers, with its buttons', async () => {
    const visitor = await asked();
    await visitor.chat.getByRole('log').locator('p', { hasText: HINT }).waitFor();
    const lines = await visitor.heard();
    expect(lines.slice(-2)).toEqual(['Please confirm: Cancel order "1004".', HINT]);
  });

  it('loses its buttons when the visitor sends any other message', async () => {
    const visitor = await asked();
    await visitor.say('what else?');
    await shows(visitor, 'You said: what else?');
    expect(await buttons(visitor).count()).toBe(0);
  });

  it('keeps its buttons when the page is reloaded', async () => {
    const visitor = await asked();
    await visitor.page.reload();
    await buttons(visitor).getByRole('button', { name: 'Confirm' }).click();
    await shows(visitor, 'It is done.');
  });

  it('loses its buttons if the service says that the question is no longer open, and the chat continues', async () => {
    const visitor = await asked();
    chat.refuse = (request) => (request.url === '/sse/chat' ? problem(409, 'confirmation_gone') : null);
    await buttons(visitor).getByRole('button', { name: 'Confirm' }).click();
    await visitor.chat.getByText('This question is no longer open. Please ask again.').first().waitFor();
    expect(await buttons(visitor).count()).toBe(0);
    expect(await visitor.trouble.isVisible()).toBe(false);
    chat.refuse = () => null;
    await visitor.say('hello');
    await shows(visitor, 'You said: hello');
  });
});

function focused({ page }: Visitor): Promise<string | null> {
  return page.evaluate(
    () => document.querySelector('agentd-webchat')?.shadowRoot?.activeElement?.textContent ?? null,
  );
}
