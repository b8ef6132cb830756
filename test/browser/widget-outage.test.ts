import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { problem } from './fake-chat.ts';
import { openRoom, type Visitor, visit } from './visitor.ts';

const { chat, browser } = openRoom();

/** Opens the page with a fake clock, which `later` advances. */
const enter = () => visit(browser.context, chat.url, { clock: true });

/**
 * How far `later` advances the clock at a time, in ms. It is less than the time that the widget waits for the first
 * event of a new stream.
 */
const STEP_MS = 5000;

/** Lets time pass for the page, step by step, until the condition is true. */
async function later(visitor: Visitor, condition: () => Promise<boolean> | boolean): Promise<void> {
  await until(async () => {
    if (await condition()) return true;
    await visitor.page.clock.fastForward(STEP_MS);
    return false;
  });
}

const status = async (visitor: Visitor) => (await visitor.status.textContent()) ?? '';
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();
const undelivered = ({ chat }: Visitor) => chat.getByText('Not delivered').filter({ visible: true });
const runs = () => [...chat.runs.values()].map(({ starts }) => starts);
const texts = (visitor: Visitor) => visitor.chat.locator('.entry .body').allTextContents();

describe.skipIf(withoutBrowser)('messages and answers', () => {
  it('the written part of an answer stays when the service becomes unreachable, and the rest is appended later', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('One, ');
      await goOn;
      run.say('two.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Count');
    await shows(visitor, 'One,');
    chat.goAway();
    await visitor.status.filter({ hasText: 'Reconnecting' }).waitFor();
    await later(visitor, async () => (await status(visitor)).includes('No connection'));
    await expect.poll(() => texts(visitor)).toEqual(['Count', 'One,']);
    await visitor.chat.locator('.agent .meta', { hasText: 'Interrupted' }).waitFor();
    // The message was delivered. Only its answer is incomplete.
    await expect.poll(() => undelivered(visitor).count()).toBe(0);
    chat.away = false;
    await later(visitor, async () => (await status(visitor)).includes('Answering'));
    // The widget continued the same stream: it did not send the message again.
    expect(chat.received.map(({ path }) => path)).toEqual(['/sse/chat']);
    resolve();
    await shows(visitor, /^One, two\.$/);
    await visitor.status.filter({ hasText: 'Ready to help' }).waitFor();
    expect(await visitor.trouble.isVisible()).toBe(false);
    expect(runs()).toEqual([1]);
    expect(visitor.complaints).toEqual([]);
  });

  it('the written part of an answer stays if the answer cannot continue, even after a page load and a retry', async () => {
    chat.script = async (run) => {
      run.tool('get_user', 'started');
      run.say('Half');
      run.fail('interrupted');
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await visitor.trouble.getByText('The answer was interrupted').waitFor();
    await expect.poll(() => texts(visitor)).toEqual(['Hello', 'Half']);
    await visitor.page.reload();
    await visitor.chat.locator('.agent .meta', { hasText: 'Interrupted' }).waitFor();
    // The tool keeps its spinner, because it has not finished.
    expect(await visitor.chat.locator('.tool .spinner').count()).toBe(1);
    chat.script = (run) => {
      run.say('Whole.');
      run.end();
    };
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await shows(visitor, 'Whole.');
    await expect.poll(() => texts(visitor)).toEqual(['Hello', 'Half', 'Whole.']);
  });

  it('undelivered messages are marked, and the last one is sent when the service is reachable again', async () => {
    const visitor = await enter();
    await visitor.launcher.click();
    chat.goAway();
    await visitor.say('One');
    await undelivered(visitor).waitFor();
    await visitor.trouble.getByText('continues automatically').waitFor();
    await visitor.status.filter({ hasText: 'No connection' }).waitFor();
    // The last message has no "Send again" button, because the error box below it has a button for that.
    expect(await visitor.chat.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    await visitor.say('Two');
    await until(async () => (await undelivered(visitor).count()) === 2);
    await visitor.chat.getByRole('button', { name: 'Send again' }).waitFor();
    chat.away = false;
    await later(visitor, () => chat.received.length > 0);
    await shows(visitor, 'Fine.');
    await visitor.status.filter({ hasText: 'Ready to help' }).waitFor();
    await expect.poll(() => texts(visitor)).toEqual(['One', 'Two', 'Fine.']);
    await expect.poll(() => undelivered(visitor).count()).toBe(1);

    await visitor.chat.getByRole('button', { name: 'Send again' }).click();
    await until(() => chat.received.length === 2);
    await expect.poll(() => texts(visitor)).toEqual(['Two', 'Fine.', 'One', 'Fine.']);
    await expect.poll(() => undelivered(visitor).count()).toBe(0);
    const [two, one] = chat.received;
    expect([two?.body.message, one?.body.message]).toEqual(['Two', 'One']);
    // "One" is sent again, in the session that "Two" started.
    expect(one?.body.session_id).toBe([...chat.runs.values()][0]?.session_id);
  });

  it('an undelivered message is sent even if the page was reloaded in the meantime', async () => {
    const visitor = await enter();
    chat.goAway();
    await visitor.say('Hello');
    await undelivered(visitor).waitFor();
    await visitor.page.reload();
    await undelivered(visitor).waitFor();
    chat.away = false;
    await later(visitor, () => chat.received.length === 1);
    await shows(visitor, 'Fine.');
    await expect.poll(() => texts(visitor)).toEqual(['Hello', 'Fine.']);
  });

  it('a message is sent again if its response was lost, but is run only once', async () => {
    chat.losesAnswers = true;
    const visitor = await enter();
    await visitor.say('Order one engine');
    await undelivered(visitor).waitFor();
    chat.losesAnswers = false;
    await later(visitor, async () => (await visitor.trouble.isVisible()) === false);
    await shows(visitor, 'Fine.');
    expect(runs()).toEqual([1]);
    expect(new Set(chat.received.map(({ key }) => key)).size).toBe(1);
  });

  it('a refused message is marked too, and can be sent again even after a later message', async () => {
    chat.refuse = ({ method }) =>
      method === 'POST' ? problem(429, 'rate_limited', { 'Retry-After': '1' }) : null;
    const visitor = await enter();
    await visitor.say('One');
    await undelivered(visitor).waitFor();
    chat.refuse = () => null;
    await visitor.say('Two');
    await shows(visitor, 'Fine.');
    await visitor.chat.getByRole('button', { name: 'Send again' }).click();
    await until(() => chat.received.length === 2);
    await until(async () => (await undelivered(visitor).count()) === 0);
  });
});

describe.skipIf(withoutBrowser)('the header', () => {
  it('shows whether the chat is connecting, answering or ready', async () => {
    const gate = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    chat.gate = gate.promise;
    chat.script = async (run) => {
      run.say('Fi');
      await answer.promise;
      run.say('ne.');
      run.end();
    };
    const visitor = await enter();
    await visitor.launcher.click();
    expect(await status(visitor)).toBe('Ready to help');
    await visitor.say('Hello');
    await visitor.status.filter({ hasText: 'Connecting…' }).waitFor();
    gate.resolve();
    await visitor.status.filter({ hasText: 'Answering…' }).waitFor();
    answer.resolve();
    await visitor.status.filter({ hasText: 'Ready to help' }).waitFor();
    // A screen reader announces the answer. It announces the state only when the connection is lost.
    await expect.poll(() => visitor.heard()).toEqual(['Fine.']);
  });

  it('shows that the service is unreachable before any message is sent, also if a gateway answers 502, and when it is reachable again', async () => {
    chat.away = true;
    const visitor = await enter();
    await visitor.launcher.click();
    await visitor.status.filter({ hasText: 'No connection' }).waitFor();
    chat.away = false;
    await later(visitor, async () => (await status(visitor)) === 'Ready to help');
    chat.away = true;
    await later(visitor, async () => (await status(visitor)).includes('No connection'));
    await expect
      .poll(() => visitor.heard())
      .toEqual(['No connection. Retrying…', 'Ready to help', 'No connection. Retrying…']);
    chat.away = false;
    await later(visitor, async () => (await status(visitor)) === 'Ready to help');
    // A gateway answers instead.
    chat.refuse = ({ url, method }) =>
      url?.startsWith('/sse') || url === '/webchat/message' || method === 'HEAD' ? { status: 502 } : null;
    await visitor.say('Hello');
    await visitor.status.filter({ hasText: 'No connection' }).waitFor();
    chat.refuse = () => null;
    await later(visitor, () => chat.received.length === 1);
    await shows(visitor, 'Fine.');
  });
});

describe.skipIf(withoutBrowser)('a new conversation', () => {
  it('can be undone until the visitor sends a message in it', async () => {
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    const { session_id } = chat.lastRun;
    const restart = visitor.chat.getByRole('button', { name: 'New conversation' });
    const undo = visitor.chat.getByRole('button', { name: 'Undo' });
    await restart.click();
    await visitor.chat.locator('.widget', { hasText: 'This is a new conversation.' }).waitFor();
    await expect.poll(() => texts(visitor)).toEqual(['This is a new conversation.']);
    await undo.click();
    await shows(visitor, 'Fine.');
    await expect.poll(() => texts(visitor)).toEqual(['Hello', 'Fine.']);
    expect(await undo.isVisible()).toBe(false);
    await visitor.say('More');
    await expect.poll(() => texts(visitor)).toEqual(['Hello', 'Fine.', 'More', 'Fine.']);
    expect(chat.received[1]?.body.session_id).toBe(session_id);
    // The restored messages are not announced again.
    await expect.poll(() => visitor.heard()).toEqual(['Fine.']);

    await restart.click();
    await undo.waitFor();
    await visitor.say('Something else');
    await shows(visitor, 'Fine.');
    expect(await undo.isVisible()).toBe(false);
    expect(chat.received[2]?.body.session_id).toBeNull();
  });

  it('stops the answer that is being written; undoing it restores the written part', async () => {
    const stopped = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('So much');
      await run.stopAsked;
      stopped.resolve();
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'So much');
    await visitor.chat.getByRole('button', { name: 'New conversation' }).click();
    await stopped.promise;
    await visitor.chat.getByRole('button', { name: 'Undo' }).click();
    await shows(visitor, /^So much$/);
    await visitor.chat.locator('.agent .meta', { hasText: 'Stopped' }).waitFor();
    await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
  });
});
