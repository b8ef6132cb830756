import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { type FakeChat, MESSAGE_ID, problem, type Run } from './fake-chat.ts';
import { faults } from './faults.ts';
import { picture } from './pictures.ts';
import { tokenFor } from './site-token.ts';
import { openRoom, type Visitor, visit } from './visitor.ts';

/* The rules are in agentd-webchat(7), "Questions". */

const LEAD = 'I can do that.';
const ACTIONS = [
  {
    number: 1,
    title: 'Cancel order 1004',
    details: [
      { label: 'item_name', title: 'Item', value: 'Punched cards, 500' },
      { label: 'Reason', value: '<b>too</b> late' },
    ],
    confirm_label: 'Cancel order',
  },
];
const question = (more: object = {}) => ({
  id: 'action-1',
  summary: 'Cancel order 1004\nreason: "too late"',
  expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
  begins_at: LEAD.length + 2,
  actions: ACTIONS,
  ...more,
});

/** The line about the action, for clients without a card. */
const RECEIPT = 'Cancel order 1004 – done';

const HINT = 'Answer with Cancel order or Decline';

const { chat, browser } = openRoom({}, (chat) => {
  chat.script = asks;
});

function ask(run: Run, more: object = {}): void {
  run.say(`${LEAD}\n\nPlease confirm: Cancel order 1004.\n\nAnswer yes or no.`);
  run.event('confirmation', question(more));
}

/**
 * Asks for confirmation if the message is "cancel", and then says what the visitor decided. Repeats any other message.
 */
const asks: FakeChat['script'] = (run) => {
  const { confirm } = run.body.metadata as { confirm?: { approve: boolean } };
  if (confirm) {
    if (confirm.approve) {
      run.tool('shop_cancelOrder', 'started', { title: 'Cancel order' });
      run.tool('shop_cancelOrder', 'completed', { title: 'Cancel order', credentials: 'user' });
    }
    run.say(
      confirm.approve ? `It is done.\n\n${RECEIPT}` : 'Cancel order 1004 – declined, nothing was changed',
    );
    if (confirm.approve) {
      const done = { action_id: 'action-1', summary: 'Cancel order 1004', outcome: 'done' };
      run.event('actions', { actions: [done], begins_at: 'It is done.\n\n'.length });
    }
  } else if (run.body.message === 'cancel') ask(run);
  else run.say(`You said: ${String(run.body.message)}`);
  run.end();
};

const card = (visitor: Visitor) => visitor.chat.locator('.card').first();
const buttons = (visitor: Visitor) => visitor.chat.getByRole('group', { name: HINT });
const outcome = (visitor: Visitor, text: string | RegExp) =>
  card(visitor).locator('.outcome').filter({ hasText: text }).waitFor();
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();

async function asked(): Promise<Visitor> {
  const visitor = await visit(browser.context, chat.url);
  await visitor.say('cancel');
  await buttons(visitor).waitFor();
  return visitor;
}

describe.skipIf(withoutBrowser)('a question that asks for confirmation', () => {
  it('is a card with the action, its details as text, the person, and two buttons', async () => {
    chat.token = tokenFor('ada', { name: 'Ada Lovelace' });
    chat.page.attributes = { 'data-token-url': '/token' };
    const visitor = await asked();
    await picture(visitor.page, 'card');
    expect(await faults(visitor.page)).toEqual([]);
    expect(await card(visitor).getByRole('heading').textContent()).toBe('Cancel order 1004');
    expect(await card(visitor).locator('dt').allTextContents()).toEqual(['Item', 'Reason']);
    expect(await card(visitor).locator('dd').allTextContents()).toEqual([
      'Punched cards, 500',
      '<b>too</b> late',
    ]);
    expect(await card(visitor).locator('.as').textContent()).toBe('As Ada Lovelace');
    expect(await buttons(visitor).getByRole('button').allTextContents()).toEqual(['Cancel order', 'Decline']);
    // The card takes the place of the question in words.
    expect((await visitor.answer.textContent())?.trim()).toBe(LEAD);
    expect(await visitor.chat.getByText('yes or no').count()).toBe(0);
    expect(await visitor.chat.locator('.check').count()).toBe(0);
    expect(visitor.complaints).toEqual([]);
  });

  it('is answered with its first button, and says in place, and only there, that it is done, and when', async () => {
    const visitor = await asked();
    await buttons(visitor).getByRole('button', { name: 'Cancel order' }).click();
    await shows(visitor, 'It is done.');
    expect(chat.received.at(-1)?.body).toMatchObject({
      message: '',
      metadata: { confirm: { id: 'action-1', approve: true } },
      session_id: chat.lastRun.session_id,
    });
    await outcome(visitor, /^Done at \d/);
    await picture(visitor.page, 'card-done');
    await until(async () => (await visitor.heard()).some((line) => /^Done at \d/.test(line)));
    expect(await faults(visitor.page)).toEqual([]);
    expect(await card(visitor).getByRole('button').count()).toBe(0);
    const toldOnce = async () => {
      await outcome(visitor, /^Done at \d/);
      expect(
        await visitor.chat
          .locator('.entries')
          .getByText(/^Done at/)
          .count(),
      ).toBe(1);
      expect(await visitor.chat.locator('.tool:visible').count()).toBe(0);
      expect(await visitor.chat.getByText('– done').count()).toBe(0);
    };
    await toldOnce();
    await visitor.page.reload();
    await toldOnce();
    expect(visitor.complaints).toEqual([]);
  });

  it('is declined with its second button, also after the page was reloaded', async () => {
    const visitor = await asked();
    await visitor.page.reload();
    await buttons(visitor).getByRole('button', { name: 'Decline' }).click();
    await outcome(visitor, /^Declined at \d/);
    expect(chat.received.at(-1)?.body).toMatchObject({ metadata: { confirm: { approve: false } } });
    // The card says it. The answer, which says no more, is not shown.
    expect(await visitor.chat.locator('.agent:visible').count()).toBe(1);
    expect(await faults(visitor.page)).toEqual([]);
  });

  it('says that it failed, or that the outcome is unknown, and never that it is done', async () => {
    chat.script = (run) => {
      if (!(run.body.metadata as { confirm?: object }).confirm) ask(run);
      else {
        run.tool('shop_cancelOrder', 'started');
        run.tool('shop_cancelOrder', 'failed');
        run.say('Hm.');
        run.event('actions', { actions: [{ outcome: run.body.message === '' ? 'unknown' : 'done' }] });
      }
      run.end();
    };
    const visitor = await asked();
    await buttons(visitor).getByRole('button', { name: 'Cancel order' }).click();
    await outcome(visitor, 'It isn’t known yet whether this happened.');
    expect(await card(visitor).locator('.check').count()).toBe(0);
    chat.script = (run) => {
      if (!(run.body.metadata as { confirm?: object }).confirm) ask(run, { id: 'action-2' });
      else {
        run.tool('shop_cancelOrder', 'started');
        run.tool('shop_cancelOrder', 'failed');
        run.say('No.');
      }
      run.end();
    };
    await visitor.say('cancel');
    const second = visitor.chat.locator('.card:not([hidden])').nth(1);
    await second.getByRole('button', { name: 'Cancel order' }).click();
    await second.locator('.outcome.failed').waitFor();
  });

  it('shows the time that is left when it is short, and expires by itself', async () => {
    const visitor = await visit(browser.context, chat.url, { clock: true });
    chat.script = (run) => {
      ask(run, { expires_at: new Date(Date.now() + 170_000).toISOString() });
      run.end();
    };
    await visitor.say('cancel');
    await visitor.page.clock.runFor(200);
    await card(visitor).getByText('3 min left').waitFor();
    await visitor.page.clock.runFor(180_000);
    await outcome(visitor, 'Expired. Nothing was changed.');
    expect(await buttons(visitor).count()).toBe(0);
  });

  it('is announced to screen readers, can be reached and answered with the keyboard, and the focus returns to the field', async () => {
    const visitor = await asked();
    await visitor.chat.getByRole('log').locator('p', { hasText: HINT }).waitFor();
    const lines = await visitor.heard();
    expect(lines.slice(-2)).toEqual([
      'Cancel order 1004. Item. Punched cards, 500. Reason. <b>too</b> late',
      HINT,
    ]);
    await visitor.field.focus();
    for (const name of ['Decline', 'Cancel order']) {
      await visitor.page.keyboard.press('Shift+Tab');
      expect(await focused(visitor)).toBe(name);
    }
    await visitor.page.keyboard.press('Enter');
    await shows(visitor, 'It is done.');
    expect(
      await visitor.field.evaluate((field) => field === (field.getRootNode() as ShadowRoot).activeElement),
    ).toBe(true);
  });

  it('is closed by another message, unless the answer asks it again', async () => {
    const visitor = await asked();
    await visitor.say('what else?');
    await shows(visitor, 'You said: what else?');
    await outcome(visitor, 'This question is closed.');
    expect(await buttons(visitor).count()).toBe(0);
    await visitor.say('cancel');
    await buttons(visitor).waitFor();
    chat.script = (run) => {
      ask(run);
      run.end();
    };
    await visitor.say('is it shipped?');
    await visitor.chat.locator('.agent').nth(3).getByRole('button').first().waitFor();
    expect(await visitor.chat.locator('.card:visible').count()).toBe(2);
    expect(await buttons(visitor).count()).toBe(1);
  });

  it('stays in words if its card cannot be loaded, and the next question loads the card again', async () => {
    const visitor = await visit(browser.context, chat.url);
    await visitor.page.route('**/webchat/card.js*', (route) => route.abort(), { times: 1 });
    await visitor.say('cancel');
    await shows(visitor, /Please confirm: Cancel order 1004\..*Answer yes or no\.$/s);
    expect(await visitor.chat.locator('.card:visible').count()).toBe(0);
    await visitor.say('cancel');
    await buttons(visitor).waitFor();
    expect((await visitor.answer.textContent())?.trim()).toBe(LEAD);
    expect(visitor.complaints).toEqual([]);
  });

  it('is closed if the service says that it is no longer open, and the chat continues', async () => {
    const visitor = await asked();
    chat.refuse = (request) => (request.url === '/sse/chat' ? problem(409, 'confirmation_gone') : null);
    await buttons(visitor).getByRole('button', { name: 'Cancel order' }).click();
    await visitor.chat.getByText('This question is no longer open. Please ask again.').first().waitFor();
    await outcome(visitor, 'This question is closed.');
    expect(await visitor.trouble.isVisible()).toBe(false);
    chat.refuse = () => null;
    await visitor.say('hello');
    await shows(visitor, 'You said: hello');
  });

  it('about several actions has a box for each, and confirms those that are chosen', async () => {
    const several = ['1004', '1005', '1006'].map((order, index) => ({
      ...{ number: index + 1, title: `Cancel order ${order}`, details: [] },
    }));
    chat.script = (run) => {
      if (run.body.message === 'cancel') ask(run, { actions: several });
      else {
        run.say('It is done.');
        const done = { action_id: 'action-1:1', summary: 'Cancel order 1004', outcome: 'done' };
        const failed = { action_id: 'action-1:3', summary: 'Cancel order 1006', outcome: 'failed' };
        run.event('actions', { actions: [done, failed] });
      }
      run.end();
    };
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('cancel');
    const boxes = card(visitor).getByRole('checkbox');
    await boxes.first().waitFor();
    expect(await card(visitor).getByRole('heading').allTextContents()).toEqual(
      several.map(({ number, title }) => `${number}. ${title}`),
    );
    const confirm = card(visitor).getByRole('button', { name: 'Confirm' });
    for (const box of await boxes.all()) await box.uncheck();
    expect(await confirm.isDisabled()).toBe(true);
    await boxes.first().check();
    await boxes.last().check();
    expect(await confirm.textContent()).toBe('Confirm 2 of 3');
    await picture(visitor.page, 'card-several');
    expect(await faults(visitor.page)).toEqual([]);
    await confirm.click();
    await shows(visitor, 'It is done.');
    expect(chat.received.at(-1)?.body).toMatchObject({
      metadata: { confirm: { id: 'action-1', approve: [1, 3] } },
    });
    // What became of each takes the place of its box.
    await outcome(visitor, 'Only part of this was done, as marked above.');
    await until(async () => (await visitor.heard()).includes('Only part of this was done, as marked above.'));
    const signs = () =>
      card(visitor)
        .locator('.what')
        .evaluateAll((all) => all.map((one) => one.className));
    expect(await signs()).toEqual(['what done', 'what declined', 'what failed']);
    expect(await boxes.count()).toBe(0);
    await picture(visitor.page, 'card-several-done');
    expect(await faults(visitor.page)).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it('is read from its text if the service sends no list of actions', async () => {
    chat.script = (run) => {
      ask(run, { actions: undefined });
      run.end();
    };
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('cancel');
    expect(await card(visitor).getByRole('heading').textContent()).toBe('Cancel order 1004');
    expect(await card(visitor).locator('dl').textContent()).toBe('reason"too late"');
    expect(await card(visitor).getByRole('button').allTextContents()).toEqual(['Confirm', 'Decline']);
  });
});

describe.skipIf(withoutBrowser)('an answer', () => {
  it('shows what the message did as lines with their outcome, instead of the lines in its text', async () => {
    const text = 'All sent.\n\nDone: Send letter.\nUnknown: Send bill.';
    chat.script = (run) => {
      run.say(text);
      const actions = [
        {
          action_id: 'a',
          summary: 'Send letter to "<b>Ada</b>"',
          outcome: 'done',
          at: '2026-01-02T03:04:05Z',
        },
        { action_id: 'b', summary: 'Send bill', outcome: 'unknown', at: '2026-01-02T03:04:05Z' },
      ];
      run.event('actions', { actions, begins_at: text.indexOf('Done:') });
      run.end();
    };
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('send them');
    await shows(visitor, /^All sent\.$/);
    const lines = visitor.chat.locator('.did li');
    const time = await visitor.page.evaluate(() =>
      new Date('2026-01-02T03:04:05Z').toLocaleTimeString([], { timeStyle: 'short' }),
    );
    expect(await lines.locator('bdi').allTextContents()).toEqual([
      'Send letter to "<b>Ada</b>"',
      'Send bill',
    ]);
    expect(await lines.first().textContent()).toContain(`Done at ${time}`);
    expect(await lines.last().textContent()).toContain('It isn’t known yet');
    await picture(visitor.page, 'receipts');
    expect(await faults(visitor.page)).toEqual([]);
  });

  it('names its tools by their titles, says whose credentials they carried, and has no thumbs if the site leaves them out', async () => {
    chat.token = tokenFor('ada', { name: 'Ada Lovelace' });
    chat.page.attributes = { 'data-token-url': '/token', 'data-feedback': 'off' };
    chat.script = (run) => {
      run.tool('shop_listOrders', 'started', { title: 'My orders' });
      run.tool('shop_listOrders', 'completed', { title: 'My orders', credentials: 'user' });
      run.say('Two orders.');
      run.end();
    };
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('orders');
    await shows(visitor, 'Two orders.');
    expect(await visitor.chat.locator('.tool').allTextContents()).toEqual(['My orders']);
    expect(await visitor.chat.locator('.meta').textContent()).toBe('As Ada Lovelace');
    expect(await visitor.chat.getByRole('button', { name: 'Good answer' }).count()).toBe(0);
  });

  it('can be rated with a thumb, as the person who is signed in, and keeps its rating', async () => {
    chat.token = tokenFor('ada', { name: 'Ada Lovelace' });
    chat.page.attributes = { 'data-token-url': '/token' };
    const visitor = await visit(browser.context, chat.url);
    const thumb = (name: string) => visitor.chat.getByRole('button', { name });
    await visitor.say('hello');
    await thumb('Bad answer').click();
    await visitor.chat.getByRole('button', { name: 'Bad answer', pressed: true }).waitFor();
    const comment = visitor.chat.getByLabel('What was wrong? (optional)');
    await comment.waitFor();
    await picture(visitor.page, 'comment');
    expect(await faults(visitor.page)).toEqual([]);
    await comment.fill('x'.repeat(2000));
    expect((await comment.inputValue()).length).toBe(1000);
    await comment.fill(' It is about another order. ');
    await visitor.chat.getByRole('button', { name: 'Send', exact: true }).click();
    await visitor.chat.getByText('Thank you.').waitFor();
    await thumb('Good answer').click();
    await visitor.chat.getByRole('button', { name: 'Good answer', pressed: true }).waitFor();
    const rated = { session_id: chat.lastRun.session_id, message_id: MESSAGE_ID, jwt_token: chat.token };
    expect(chat.ratings).toEqual([
      { ...rated, rating: -1 },
      { ...rated, rating: -1, comment: 'It is about another order.' },
      { ...rated, rating: 1 },
    ]);
    expect(await comment.count()).toBe(0);
    chat.away = true;
    await thumb('Bad answer').click();
    await visitor.chat.getByText('Something went wrong on our side').waitFor({ state: 'attached' });
    chat.away = false;
    await visitor.page.reload();
    await visitor.chat.getByRole('button', { name: 'Good answer', pressed: true }).waitFor();
    expect(await thumb('Bad answer').getAttribute('aria-pressed')).toBe('false');
  });

  it('offers sign-in if a tool needs it: with an event that the page can catch, else at the address of the site', async () => {
    chat.page.attributes = { 'data-sign-in-url': '/elsewhere' };
    chat.page.script = 'window.agentdWebchat = { token: () => null }';
    chat.script = needsSignIn;
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('orders');
    const button = visitor.chat.getByRole('button', { name: 'Sign in' });
    await button.waitFor();
    await picture(visitor.page, 'sign-in');
    expect(await visitor.chat.locator('.cross').count()).toBe(0);
    // The line that offers sign-in stands for the tool. There is no answer to rate yet.
    expect(await visitor.chat.locator('.tool:visible').count()).toBe(0);
    expect(await visitor.chat.locator('.meta:visible').count()).toBe(0);
    await visitor.page.evaluate(() =>
      addEventListener(
        'agentd-sign-in',
        (event) => {
          event.preventDefault();
          document.title = 'caught';
        },
        { once: true },
      ),
    );
    await button.click();
    expect(await visitor.page.title()).toBe('caught');
    await button.click();
    await visitor.page.waitForURL('**/elsewhere');
  });

  it('says that people sign in on the website if nobody can be signed in on the page', async () => {
    chat.script = needsSignIn;
    const visitor = await visit(browser.context, chat.url);
    await visitor.say('orders');
    await visitor.chat.getByText('Sign in on our website to continue.').waitFor();
    expect(await visitor.chat.getByRole('button', { name: 'Sign in' }).count()).toBe(0);
  });
});

const needsSignIn = (run: Run) => {
  run.tool('shop_listOrders', 'started', { title: 'My orders' });
  run.tool('shop_listOrders', 'failed', { title: 'My orders', sign_in_needed: true });
  run.say('Please sign in.');
  run.end();
};

function focused({ page }: Visitor): Promise<string | null> {
  return page.evaluate(() => {
    const active = document.querySelector('agentd-webchat')?.shadowRoot?.activeElement;
    return active?.ariaLabel ?? active?.textContent ?? null;
  });
}
