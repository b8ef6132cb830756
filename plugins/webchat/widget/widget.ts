import type { Options } from './options.ts';
import { Conversation } from './talk/conversation.ts';
import { Delivery } from './talk/deliver.ts';
import { Memory } from './talk/memory.ts';
import { Service } from './talk/service.ts';
import { TokenSource } from './talk/token.ts';
import { button, h, icon, set } from './view/dom.ts';
import { Panel } from './view/panel.ts';

/** The controls of the widget that the page can use. */
export interface WidgetControls {
  open(): void;
  close(): void;
  /** The page must call this if somebody signs in or out without a page load. */
  identityChanged(): Promise<void>;
}

/** Adds the widget to the page: a button and a chat, in a shadow root. */
export async function mountWidget(options: Options, style: string): Promise<WidgetControls> {
  const { texts } = options;
  const host = document.createElement('agentd-webchat');
  set(host, { dir: options.direction, lang: options.language, 'data-side': options.side });
  const root = host.attachShadow({ mode: 'open' });
  // A style element would need `unsafe-inline` in the page's content security policy.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const dress = () =>
    set(host, { 'data-theme': options.theme === 'auto' && dark.matches ? 'dark' : options.theme });
  dark.addEventListener('change', dress);
  dress();

  const conversation = new Conversation({
    delivery: new Delivery(new Service(options.base)),
    tokens: new TokenSource(options.ask, options.token),
    memory: new Memory(options.base),
    texts,
    user_id: options.user_id,
    metadata: () => ({
      page_url: location.origin + location.pathname,
      ...(options.user_name === null ? {} : { user_name: options.user_name }),
    }),
    changed: () => schedule(),
  });
  const panel = new Panel(texts, options.suggestions, conversation, () => controls.close());
  const launcher = button(
    { class: 'launcher', 'aria-haspopup': 'dialog', 'aria-expanded': 'false', 'aria-label': texts.launch },
    () => controls.open(),
    icon('chat'),
    h('span', { class: 'badge', hidden: true }),
  );
  root.append(launcher, panel.element);

  let cameFrom: HTMLElement | null = null;
  const controls: WidgetControls = {
    open() {
      if (panel.element.open) return;
      const active = document.activeElement;
      cameFrom = active instanceof HTMLElement && active !== host && active !== document.body ? active : null;
      markUnread(false);
      set(launcher, { hidden: true, 'aria-expanded': 'true' });
      set(host, { 'data-open': true });
      panel.open();
      conversation.open = true;
    },
    close() {
      if (!panel.element.open) return;
      panel.close();
      set(launcher, { hidden: false, 'aria-expanded': 'false' });
      set(host, { 'data-open': false });
      (cameFrom?.isConnected ? cameFrom : launcher).focus();
      conversation.open = false;
    },
    identityChanged: () => conversation.identityChanged(),
  };

  const markUnread = (unread: boolean) => {
    set(launcher, { 'aria-label': unread ? texts.launchUnread : texts.launch });
    set(launcher.lastElementChild as Element, { hidden: !unread });
  };

  let shown = false;
  let wasBusy = false;
  const show = () => {
    const { state } = conversation;
    panel.show(state, shown);
    if (wasBusy && !state.busy && !panel.element.open) markUnread(true);
    wasBusy = state.busy;
    shown = true;
  };
  // The view is updated once per frame, because many pieces of text may arrive between two frames.
  let scheduled = false;
  const schedule = () => {
    if (scheduled || !shown) return;
    scheduled = true;
    const run = () => {
      scheduled = false;
      show();
    };
    // A hidden page renders no frames, but its state must still be updated.
    if (document.visibilityState === 'visible') requestAnimationFrame(run);
    else setTimeout(run, 100);
  };

  addEventListener('online', () => void conversation.returned(false));
  addEventListener('pagehide', () => conversation.keep());
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void conversation.returned(true);
  });
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void conversation.returned(false);
  });

  await conversation.recall();
  // The widget is not inside the body, because sites transform and replace the body.
  document.documentElement.append(host);
  show();
  // The visitor did not open the chat on this page, so the chat must neither cover a small screen nor take the focus.
  if ((conversation.open || options.open) && !panel.covers) {
    const { activeElement } = document;
    controls.open();
    (root.activeElement as HTMLElement | null)?.blur();
    if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true });
  }
  return controls;
}
