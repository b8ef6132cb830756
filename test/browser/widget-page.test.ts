import { describe, expect, it } from 'vitest';
import { effort } from '../support/effort.ts';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { problem } from './fake-chat.ts';
import { faults } from './faults.ts';
import { picture, still } from './pictures.ts';
import { openRoom, type Visitor, visit } from './visitor.ts';

const { chat, browser } = openRoom({}, (chat) => {
  chat.page.style = ':root { color-scheme: light dark }';
});

const ANSWER = [
  'Here is what I found, **Ada**:',
  '',
  '- Order `1001`: [Analytical engine](https://example.com/engine)',
  '  - shipped on *Monday*',
  '- Order `1004`: Punched cards',
  '',
  '| Item | Price | Status |',
  '|---|---|---|',
  '| Engine | 1,200 | shipped |',
  '| Cards | 5 | being packed |',
  '',
  '> All prices in guineas.',
  '',
  '```js',
  "const engine = await order('Analytical engine', { material: 'brass', crates: 4 });",
  '```',
].join('\n');

const enter = () => visit(browser.context, chat.url);
async function conversation(visitor: Visitor): Promise<void> {
  chat.script = (run) => {
    run.tool('get_user', 'started');
    run.tool('get_user', 'completed');
    run.say(ANSWER);
    run.end();
  };
  await visitor.say('What are my orders?');
  await visitor.answer.filter({ hasText: 'crates' }).waitFor();
}

describe.skipIf(withoutBrowser)('the widget', () => {
  const appearances = [
    { name: 'light', attributes: {}, media: { colorScheme: 'light' as const }, html: {} },
    {
      name: 'dark-by-attribute',
      attributes: { 'data-theme': 'dark' },
      media: { colorScheme: 'light' as const },
      html: {},
    },
    {
      name: 'rtl',
      attributes: { 'data-title': 'محادثة', 'data-greeting': 'مرحبا! كيف يمكنني المساعدة؟' },
      media: {},
      html: { dir: 'rtl', lang: 'ar' },
    },
    { name: 'dark', attributes: {}, media: { colorScheme: 'dark' as const }, html: {} },
  ];
  // The states below are examined in dark colors, too.
  it.each(appearances.slice(0, effort(3, 4)))(
    'has no accessibility problems: $name',
    async ({ name, attributes, media, html }) => {
      Object.assign(chat.page, {
        attributes: { ...attributes, 'data-suggestions': 'Who am I?|Where are my orders?' },
        html,
      });
      const visitor = await enter();
      await visitor.page.emulateMedia(media);
      await visitor.launcher.waitFor();
      await picture(visitor.page, `${name}-closed`);
      expect(await faults(visitor.page)).toEqual([]);
      await visitor.launcher.click();
      await picture(visitor.page, `${name}-empty`);
      expect(await faults(visitor.page)).toEqual([]);
      await conversation(visitor);
      await picture(visitor.page, `${name}-answer`);
      expect(await faults(visitor.page)).toEqual([]);
      expect(visitor.complaints).toEqual([]);
    },
  );

  it.each([
    ['rtl', 'Where is it?', 'left'],
    ['ltr', 'أين هو؟', 'right'],
  ])(
    'on a page that is %s shows %j of the visitor at the %s, and the time in its own direction',
    async (dir, text, side) => {
      chat.page.html = { dir };
      const visitor = await enter();
      await visitor.say(text);
      const bubble = await visitor.chat.locator('.visitor .body').boundingBox();
      const list = await visitor.chat.locator('.entries').boundingBox();
      const [left = 0, right = 0] = [bubble, list].map((box) => box?.x ?? 0);
      const isLeft = Math.abs(left - right) < 1;
      expect(isLeft ? 'left' : 'right').toBe(side);
      const when = visitor.chat.locator('.when');
      expect(await when.textContent()).toMatch(/^\d+:\d\d [AP]M$/);
      expect(await when.evaluate((element) => getComputedStyle(element).direction)).toBe('ltr');
    },
  );

  it('has no accessibility problems while it works, fails, is stopped, is offline or waits', async () => {
    const visitor = await enter();
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.tool('get_user', 'started');
      run.tool('get_user', 'completed');
      run.tool('search_orders', 'started');
      await goOn;
      run.tool('search_orders', 'failed');
      run.say('I could not look');
      await run.stopAsked;
      run.end(true);
    };
    await visitor.say('What are my orders?');
    await visitor.chat.locator('.tool').nth(1).waitFor();
    await picture(visitor.page, 'tools');
    expect(await faults(visitor.page)).toEqual([]);
    resolve();
    await visitor.answer.filter({ hasText: 'could not' }).waitFor();
    await visitor.chat.getByRole('button', { name: 'Stop the answer' }).click();
    await visitor.chat.getByText('Stopped').waitFor();
    await picture(visitor.page, 'stopped');
    chat.refuse = ({ method }) =>
      method === 'POST' ? problem(429, 'rate_limited', { 'Retry-After': '42' }) : null;
    await visitor.say('And now?');
    await visitor.trouble.waitFor();
    await picture(visitor.page, 'wait');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.chat.getByRole('button', { name: 'New conversation' }).click();
    chat.refuse = () => null;
    chat.script = (run) => run.fail('agent_failed');
    await visitor.say('Hello?');
    await visitor.trouble.getByText('went wrong').waitFor();
    await picture(visitor.page, 'error');
    chat.script = (run) => {
      run.say('Half of it');
      run.fail('interrupted');
    };
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await visitor.chat.getByText('Interrupted', { exact: true }).waitFor();
    chat.goAway();
    await visitor.say('Are you there?');
    await visitor.chat.getByText('Not delivered').waitFor();
    await visitor.say('Hello?');
    await visitor.chat.getByRole('button', { name: 'Send again' }).waitFor();
    await picture(visitor.page, 'away');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.emulateMedia({ colorScheme: 'dark' });
    await picture(visitor.page, 'away-dark');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.chat.getByRole('button', { name: 'New conversation' }).click();
    await visitor.chat.getByRole('button', { name: 'Undo' }).waitFor();
    await picture(visitor.page, 'undo-dark');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.emulateMedia({ colorScheme: 'light' });
    await picture(visitor.page, 'undo');
    expect(await faults(visitor.page)).toEqual([]);
    chat.away = false;
    chat.script = (run) => run.fail('agent_failed');
    await visitor.say('Hello?');
    await visitor.trouble.getByText('went wrong').waitFor();
    await visitor.page.emulateMedia({ colorScheme: 'dark' });
    await picture(visitor.page, 'error-dark');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.emulateMedia({ colorScheme: 'light' });
    await visitor.page.context().setOffline(true);
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await visitor.trouble.getByText('You are offline. Your message').waitFor();
    await picture(visitor.page, 'offline');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.context().setOffline(false);
  });

  it('covers the whole screen of a phone, makes the page below it unreachable, and is usable at 200 % zoom and beyond, down to 320 by 256 pixels', async () => {
    const visitor = await enter();
    await visitor.page.setViewportSize({ width: 360, height: 680 });
    await picture(visitor.page, 'phone-closed');
    await conversation(visitor);
    await picture(visitor.page, 'phone');
    expect(await visitor.chat.boundingBox()).toEqual({ x: 0, y: 0, width: 360, height: 680 });
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.locator('#own').focus();
    expect(await visitor.page.evaluate(() => document.activeElement?.id)).not.toBe('own');
    // Nothing is wider than the screen.
    const wide = await visitor.chat
      .locator('.transcript')
      .evaluate((element) => element.scrollWidth - element.clientWidth);
    expect(wide).toBe(0);
    for (const [width, height, name] of [
      [640, 360, 'zoom-200'],
      [320, 256, 'zoom-400'],
    ] as const) {
      await visitor.page.setViewportSize({ width, height });
      await picture(visitor.page, name);
      for (const control of [visitor.field, visitor.chat.getByRole('button', { name: 'Close chat' })]) {
        const isOnScreen = async () => {
          const box = await control.boundingBox();
          return (
            box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height
          );
        };
        // The browser applies the new height of the page a little later than its width.
        await expect.poll(isOnScreen, { timeout: 5000 }).toBe(true);
      }
      const transcript = await visitor.chat.locator('.transcript').boundingBox();
      expect(transcript?.height).toBeGreaterThan(90);
    }
  });

  it('keeps its appearance on a page with CSS that restyles every element, and uses the custom properties of the site', async () => {
    chat.page.style = `* { color: red !important; font-size: 40px !important; display: block; text-align: right; letter-spacing: 3px } body { transform: rotate(3deg) }
      button { border: 10px solid lime } agentd-webchat { display: none; opacity: 0.1 }
      :root { --agentd-accent: rgb(1, 100, 50); font-size: 62.5% }`;
    const visitor = await enter();
    expect(await visitor.launcher.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(
      'rgb(1, 100, 50)',
    );
    expect(await visitor.launcher.evaluate((element) => getComputedStyle(element).borderTopWidth)).toBe(
      '1px',
    );
    await visitor.launcher.click();
    expect(await visitor.field.evaluate((element) => getComputedStyle(element).fontSize)).toBe('16px');
    await picture(visitor.page, 'hostile-page');
    const box = await visitor.chat.boundingBox();
    expect(box && [box.x + box.width, box.y + box.height]).toEqual([1080, 740]);
  });

  it('shows the texts that the site sets', async () => {
    chat.page.script = `window.agentdWebchat = { texts: { launch: 'Chat öffnen', title: 'Frag uns', failures: { other: 'Das ging schief.' }, retry: 'Noch einmal' }, suggestions: ['Wer bin ich?'] }`;
    chat.page.attributes = { 'data-lang': 'de' };
    chat.script = (run) => run.fail('agent_failed');
    const visitor = await enter();
    await visitor.page.getByRole('button', { name: 'Chat öffnen' }).click();
    await visitor.page
      .getByRole('dialog', { name: 'Frag uns' })
      .getByRole('button', { name: 'Wer bin ich?' })
      .click();
    await visitor.trouble.getByText('Das ging schief.').waitFor();
    await visitor.trouble.getByRole('button', { name: 'Noch einmal' }).waitFor();
    expect(await visitor.page.locator('agentd-webchat').getAttribute('lang')).toBe('de');
  });

  it('shows the picture, the notice and the whole title that the site sets, however narrow it is', async () => {
    const logo = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='40' height='40'/%3E";
    chat.page.attributes = {
      ...{ 'data-logo': logo, 'data-notice': 'An AI answers here.', 'data-open': '' },
      'data-title': 'Babbage & Daughters, Instrument Makers',
    };
    chat.page.style = ':root { --agentd-width: 320px }';
    const visitor = await enter();
    const title = visitor.chat.getByRole('heading', { level: 2 });
    const hidden = await title.evaluate((h2) => [
      h2.scrollWidth - h2.clientWidth,
      getComputedStyle(h2).textOverflow,
    ]);
    expect(hidden).toEqual([0, 'clip']);
    const [head, inside] = [await visitor.chat.locator('.head').boundingBox(), await title.boundingBox()];
    expect(inside?.height).toBeLessThan(head?.height ?? 0);
    const picture = visitor.chat.locator('.head img');
    expect(await picture.getAttribute('src')).toBe(logo);
    await until(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth === 40));
    const notice = await visitor.chat.getByText('An AI answers here.').boundingBox();
    const field = await visitor.field.boundingBox();
    expect(notice?.y).toBeGreaterThan(field?.y ?? 0);
    expect(await faults(visitor.page)).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it('suggests the questions of the page, also after the page has changed its path', async () => {
    chat.page.attributes = {
      'data-suggestions': '/orders/* Where is my order?|/cart How do I pay?|Who am I?',
    };
    const visitor = await visit(browser.context, `${chat.url}/orders/1004`);
    const questions = () => visitor.chat.locator('.suggestions button').allTextContents();
    await visitor.launcher.click();
    expect(await questions()).toEqual(['Where is my order?', 'Who am I?']);
    await visitor.page.keyboard.press('Escape');
    await visitor.page.evaluate(() => history.pushState(null, '', '/cart'));
    await visitor.launcher.click();
    expect(await questions()).toEqual(['How do I pay?', 'Who am I?']);
    await visitor.chat.getByRole('button', { name: 'How do I pay?' }).click();
    await until(() => chat.received.length === 1);
    expect(chat.received[0]?.body.message).toBe('How do I pay?');
  });

  it('shows in forced colors that the field has the focus', async () => {
    const visitor = await enter();
    await visitor.page.emulateMedia({ forcedColors: 'active' });
    await visitor.launcher.click();
    const ring = () =>
      visitor.chat.locator('.composer').evaluate((element) => getComputedStyle(element).outlineStyle);
    expect(await ring()).toBe('solid');
    await visitor.chat.getByRole('button', { name: 'Close chat' }).focus();
    expect(await ring()).toBe('none');
    await picture(visitor.page, 'forced-colors');
  });

  it('has no animations if the visitor prefers reduced motion', async () => {
    chat.script = () => undefined;
    const visitor = await enter();
    await visitor.page.emulateMedia({ reducedMotion: 'reduce' });
    await visitor.say('Hello');
    await visitor.chat.locator('.dots').waitFor();
    const moving = await visitor.page.evaluate(
      () => document.querySelector('agentd-webchat')?.shadowRoot?.getAnimations().length,
    );
    expect(moving).toBe(0);
  });
});

describe.skipIf(withoutBrowser)('the texts that the operator sets', () => {
  const german = { webchat_launch: 'Chat öffnen', webchat_send: 'Senden', webchat_failure_other: 'Schade' };
  const speaks = (language: string) =>
    `Object.defineProperty(navigator, 'languages', { get: () => [${JSON.stringify(language)}] });`;
  const launcher = async (name: string) => {
    const { page, complaints } = await visit(browser.context, chat.url);
    const button = page.getByRole('button', { name });
    await button.waitFor();
    expect(complaints).toEqual([]);
    return page.locator('agentd-webchat').getAttribute('lang');
  };

  it('are in the language that the site names, else of the page, else in the visitor’s language, else in the default language', async () => {
    chat.page.texts = { languages: { de: german }, default_locale: 'en' };
    chat.page.html = { lang: '' };
    chat.page.script = speaks('de-AT');
    expect(await launcher('Chat öffnen')).toBe('de');
    chat.page.attributes = { 'data-lang': 'de' };
    expect(await launcher('Chat öffnen')).toBe('de');
    chat.page.attributes = {};
    chat.page.html = { lang: 'es-MX' };
    expect(await launcher('Abrir el chat')).toBe('es');
    chat.page.html = { lang: '' };
    chat.page.script = speaks('fr');
    chat.page.texts = { languages: { de: german }, default_locale: 'de' };
    expect(await launcher('Chat öffnen')).toBe('de');
  });
});

describe.skipIf(withoutBrowser)('an answer on the page', () => {
  it('has a caret at its end while it is being written, and can be stopped with the keyboard; then the focus returns to the field', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('One:\n\n- a\n- b');
      await goOn;
      run.say(' c\n\nTwo');
      await run.stopAsked;
      run.end(true);
    };
    const visitor = await enter();
    const carets = () =>
      visitor.answer.evaluate((body) =>
        [...body.querySelectorAll('*')]
          .filter((element) => getComputedStyle(element, '::after').content !== 'none')
          .map((element) => `${element.localName} ${element.textContent}`),
      );
    await visitor.say('Hello');
    await visitor.answer.filter({ hasText: 'b' }).waitFor();
    await picture(visitor.page, 'caret');
    expect(await carets()).toEqual(['li b']);
    resolve();
    await visitor.answer.filter({ hasText: 'Two' }).waitFor();
    expect(await carets()).toEqual(['p Two']);
    await visitor.page.keyboard.press('Tab');
    await visitor.page.keyboard.press('Enter');
    await visitor.chat.getByText('Stopped').waitFor();
    expect(await carets()).toEqual([]);
    expect(await visitor.answer.textContent()).toContain('Two');
    await until(() =>
      visitor.field.evaluate((field) => (field.getRootNode() as ShadowRoot).activeElement === field),
    );
  });

  it('has tables with the column alignment of the Markdown, and code that scrolls and that the visitor can copy with the keyboard', async () => {
    const code =
      "if (a < b) {\n\treturn 'a line that is longer than the chat is wide, so that it must scroll';\n}";
    chat.script = (run) => {
      run.say(`| a | b | c | d |\n|:--|:-:|--:|---|\n| 1 | 2 | 3 | 4 |\n\n\`\`\`js\n${code}\n\`\`\`\n`);
      run.end();
    };
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: chat.url });
    const visitor = await enter();
    await visitor.say('Code, please');
    const scroller = visitor.answer.locator('.wide').last();
    await scroller.waitFor();
    expect(await scroller.evaluate((one) => one.scrollWidth > one.clientWidth && one.tabIndex === 0)).toBe(
      true,
    );
    const copy = visitor.chat.getByRole('button', { name: 'Copy code' });
    await copy.focus();
    await visitor.page.keyboard.press('Enter');
    await until(async () => (await visitor.heard()).includes('Copied'));
    expect(await visitor.page.evaluate(() => navigator.clipboard.readText())).toBe(
      code.replace('\t', '    '),
    );
    // The button stays where it is while the code below it scrolls.
    await still(visitor.page);
    const before = await copy.boundingBox();
    await scroller.evaluate((one) => one.scrollTo({ left: 1000 }));
    expect(await copy.boundingBox()).toEqual(before);
    await picture(visitor.page, 'code-scrolled');
    for (const cells of ['th', 'td'])
      expect(
        await visitor.answer
          .locator(cells)
          .evaluateAll((all) => all.map((cell) => getComputedStyle(cell).textAlign)),
      ).toEqual(['left', 'center', 'right', 'start']);
    expect(visitor.complaints).toEqual([]);
    // The button does not cover the code, even if the code has only one line.
    chat.script = (run) => {
      run.say(`\`\`\`\n${'a line that is longer than the chat is wide '.repeat(3)}\n\`\`\``);
      run.end();
    };
    await visitor.say('More');
    const block = visitor.answer.locator('.code');
    await block.waitFor();
    const ground = (element: Element) => getComputedStyle(element).backgroundColor;
    const overIt = visitor.answer.getByRole('button', { name: 'Copy code' });
    expect(await overIt.evaluate(ground)).toBe(await block.locator('pre').evaluate(ground));
    const [around, button] = [await block.boundingBox(), await overIt.boundingBox()];
    // The browser computes both heights with different errors.
    expect(button?.height).toBeLessThan((around?.height ?? 0) + 0.1);
  });

  it('shows when it was written, as every message does, also on a page whose language is no valid tag', async () => {
    chat.page.html = { lang: 'en_US' };
    const visitor = await enter();
    const before = Date.now() - 1000;
    await visitor.say('Hello');
    await visitor.answer.filter({ hasText: 'Fine.' }).waitFor();
    for (const title of await visitor.chat
      .locator('.entry')
      .evaluateAll((all) => all.map((one) => one.getAttribute('title') ?? ''))) {
      expect(Date.parse(title)).toBeGreaterThanOrEqual(Math.floor(before / 1000) * 1000);
      expect(Date.parse(title)).toBeLessThanOrEqual(Date.now());
    }
    expect(visitor.complaints).toEqual([]);
  });
});

describe.skipIf(withoutBrowser)('with the keyboard only', () => {
  it('the chat can be opened, used and closed, and the focus returns to the element that had it', async () => {
    const visitor = await enter();
    const { page } = visitor;
    const focused = () =>
      page.evaluate(() => {
        let active = document.activeElement;
        while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
        return active?.getAttribute('aria-label') ?? active?.id ?? null;
      });
    await page.locator('#own').focus();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Open chat');
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Your message');
    await page.keyboard.type('Hello');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('there');
    await page.keyboard.press('Enter');
    await visitor.answer.filter({ hasText: 'Fine.' }).waitFor();
    expect(chat.received[0]?.body.message).toBe('Hello\nthere');
    expect(await focused()).toBe('Your message');
    const reached: (string | null)[] = [];
    for (let step = 0; step < 6; step++) {
      await page.keyboard.press('Shift+Tab');
      reached.push(await focused());
    }
    expect(reached).toEqual([
      ...['Copy answer', 'Bad answer', 'Good answer'],
      ...['Conversation', 'Close chat', 'New conversation'],
    ]);
    await page.keyboard.press('Escape');
    expect(await visitor.chat.isVisible()).toBe(false);
    expect(await focused()).toBe('Open chat');

    await page.locator('#own').focus();
    await page.evaluate(() => window.agentdWebchat?.open?.());
    expect(await focused()).toBe('Your message');
    await page.evaluate(() => window.agentdWebchat?.close?.());
    expect(await focused()).toBe('own');

    // If the chat was open, it is open again on the next page, but does not take the focus.
    await page.evaluate(() => window.agentdWebchat?.open?.());
    await page.reload();
    await visitor.chat.waitFor();
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  });
});

describe.skipIf(withoutBrowser)('a screen reader', () => {
  it('announces answers in whole sentences, each once', async () => {
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    chat.script = async (run) => {
      run.say('Your **engine** was ship');
      await steps[0].promise;
      run.say('ped. It comes on Mon');
      await steps[1].promise;
      run.say('day, at 10.30 or so.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Where is it?');
    await visitor.answer.filter({ hasText: 'was ship' }).waitFor();
    expect(await visitor.heard()).toEqual([]);
    steps[0].resolve();
    await until(async () => (await visitor.heard()).length === 1);
    expect(await visitor.heard()).toEqual(['Your engine was shipped.']);
    steps[1].resolve();
    await until(async () => (await visitor.heard()).length === 2);
    expect(await visitor.heard()).toEqual([
      'Your engine was shipped.',
      'It comes on Monday, at 10.30 or so.',
    ]);
    // A page load does not announce earlier messages again.
    await visitor.page.reload();
    await visitor.answer.waitFor();
    expect(await visitor.heard()).toEqual([]);
  });

  it('announces what tools do, a table by its cells, failures, and answers that arrived while the chat was closed', async () => {
    chat.script = (run) => {
      run.tool('shop_listOrders', 'started', { title: 'My orders' });
      run.tool('shop_listOrders', 'completed', { title: 'My orders' });
      run.say('| Item | Price |\n|---|--:|\n| Cards | 5 |\n');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Orders');
    await until(async () => (await visitor.heard()).some((line) => line.includes('Cards')));
    const heard = (await visitor.heard()).join(' ');
    expect(heard).toContain('My orders…');
    expect(heard).toContain('Item, Price');
    expect(heard).toContain('Cards, 5');
    expect(heard).not.toContain('|');
    chat.script = (run) => run.fail('agent_timeout');
    await visitor.say('Hello');
    await until(async () => (await visitor.heard()).some((line) => line.includes('took too long')));
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      await goOn;
      run.say('Here.');
      run.end();
    };
    await visitor.trouble.getByRole('button').click();
    await visitor.page.keyboard.press('Escape');
    resolve();
    await visitor.page.getByRole('button', { name: 'Open chat: new answer' }).waitFor();
    await picture(visitor.page, 'unread');
  });
});

describe.skipIf(withoutBrowser)('hostile text', () => {
  const HOSTILE = [
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">',
    '<style>* { display: none }</style><iframe srcdoc="<script>parent.hacked = 3</script>"></iframe>',
    '[click](javascript:window.hacked=4) [data](data:text/html,<script>1</script>) [fine](https://example.com/?a=1&b="2")',
    '[vb](vbscript:x) [file](file:///etc/passwd) [rel](/logout) [blank]( ) <javascript:alert(1)> ![pixel](https://evil.example/p.png)',
    '\u202Egnp.exe\u202C and \u2067isolated',
    `\`\`\`html\n<b onclick="window.hacked = 5">bold</b>\n\`\`\``,
  ].join('\n\n');

  it('is shown as text, creates only allowed elements, and has only safe links', async () => {
    const asked: string[] = [];
    chat.script = (run) => {
      run.say(HOSTILE);
      run.end();
    };
    const visitor = await enter();
    visitor.page.on('request', (request) => asked.push(request.url()));
    await visitor.say(HOSTILE);
    await visitor.answer.filter({ hasText: 'isolated' }).waitFor();
    await picture(visitor.page, 'hostile-text');
    const found = await visitor.chat.locator('.entries').evaluate((entries) => ({
      names: [
        ...new Set(
          [...entries.querySelectorAll('.body :not(.copy, .copy *)')].map(({ localName }) => localName),
        ),
      ].sort(),
      attributes: [
        ...new Set(
          [...entries.querySelectorAll('.body :not(.copy, .copy *)')].flatMap((element) =>
            element.getAttributeNames(),
          ),
        ),
      ].sort(),
      links: [...entries.querySelectorAll('a')].map((link) => [link.href, link.rel, link.target]),
    }));
    expect(found.names).toEqual(
      ['a', 'br', 'code', 'div', 'p', 'pre'].filter((name) => found.names.includes(name)),
    );
    expect(found.attributes).toEqual(['class', 'dir', 'href', 'rel', 'tabindex', 'target']);
    const safe = ['noopener noreferrer nofollow', '_blank'];
    expect(found.links).toEqual([
      ['https://example.com/?a=1&b=%222%22', ...safe],
      ['https://evil.example/p.png', ...safe],
    ]);
    expect(await visitor.page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(asked.filter((url) => !url.startsWith(chat.url))).toEqual([]);
    expect(await visitor.answer.textContent()).not.toMatch(/[\u202a-\u202e]/);
    expect(visitor.complaints).toEqual([]);
  });

  it('of 100,000 characters without a space does not overflow', async () => {
    chat.script = (run) => {
      for (let piece = 0; piece < 100; piece++) run.say('W'.repeat(1000));
      run.end();
    };
    const visitor = await enter();
    await visitor.say('x'.repeat(15_000));
    await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
    await until(async () => ((await visitor.answer.textContent()) ?? '').length === 100_000);
    await picture(visitor.page, 'hostile-long');
    const box = await visitor.chat.boundingBox();
    expect(box?.width).toBeLessThan(420);
    const wide = await visitor.chat
      .locator('.transcript')
      .evaluate((element) => element.scrollWidth - element.clientWidth);
    expect(wide).toBe(0);
  });
});
