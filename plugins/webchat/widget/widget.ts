import type { Options, SiteConfiguration } from './options.ts';
import { Conversation } from './talk/conversation.ts';
import { Delivery } from './talk/deliver.ts';
import { HistoryMemory } from './talk/memory.ts';
import { Service } from './talk/service.ts';
import { TokenSource } from './talk/token.ts';
import { button, h, icon, set } from './view/dom.ts';
import { Panel } from './view/panel.ts';
import { createLoader } from './view/parts.ts';
import { keepColors } from './view/theme.ts';

/** The controls of the widget that the page can use. */
export interface WidgetControls {
  open(): void;
  close(): void;
  /** The page must call this if somebody signs in or out without a page load. */
  identityChanged(): Promise<void>;
  suggest(questions: readonly string[]): void;
  /** Begins a new conversation. */
  restart(): void;
  /** Removes the button and the chat from the page, and shows them again. */
  hide(): void;
  show(): void;
  /** Shows the chat inside this element of the page. */
  place(element: HTMLElement): void;
}

/** Adds the widget to the page: a button and a chat, in a shadow root. */
export async function mountWidget(
  options: Options,
  style: string,
  container: HTMLElement | null,
): Promise<WidgetControls> {
  const { texts, base } = options;
  const host = document.createElement('agentd-webchat');
  set(host, { dir: options.direction, lang: options.language, 'data-side': options.side });
  const root = host.attachShadow({ mode: 'open' });
  // A style element would need `unsafe-inline` in the page's content security policy.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  const colors = new CSSStyleSheet();
  root.adoptedStyleSheets = [sheet, colors];
  const applyColors = keepColors(host, colors, options.theme);

  const load = createLoader(base);
  const tokens = new TokenSource(options.ask, options.token);
  const service = new Service(base);
  const conversation = new Conversation({
    service,
    delivery: new Delivery(service),
    tokens,
    memory: options.history ? new HistoryMemory(base) : new (await load('tab')).TabMemory(base),
    texts,
    user_id: options.user_id,
    metadata: () => ({
      page_url: location.origin + location.pathname,
      ...(options.user_name === null ? {} : { user_name: options.user_name }),
    }),
    changed: () => schedule(),
  });
  const panel = new Panel(texts, options, conversation, {
    load,
    close: () => controls.close(),
    signIn: options.sign_in_url === null ? null : () => signIn(host, options.sign_in_url as string),
  });
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
      applyColors();
      set(launcher, { hidden: true, 'aria-expanded': 'true' });
      set(host, { 'data-open': true });
      panel.open();
      conversation.open = true;
      offer();
    },
    close() {
      if (!panel.element.open || panel.inline) return;
      panel.close();
      set(launcher, { hidden: false, 'aria-expanded': 'false' });
      set(host, { 'data-open': false });
      (cameFrom?.isConnected ? cameFrom : launcher).focus();
      conversation.open = false;
    },
    async identityChanged() {
      await conversation.identityChanged();
      offer();
    },
    suggest: (questions) => panel.suggest(questions),
    restart: () => conversation.startOver(),
    hide() {
      controls.close();
      set(launcher, { hidden: true });
    },
    show: () => set(launcher, { hidden: panel.element.open }),
    place(element) {
      if (host.parentElement === element) return;
      controls.close();
      panel.inline = true;
      set(host, { 'data-inline': true });
      set(launcher, { hidden: true });
      keepFocus(() => {
        element.append(host);
        panel.open(false);
      });
      applyColors();
      conversation.open = true;
      offer();
    },
  };

  /** Leaves the focus where it is. A dialog takes it when it is shown. */
  const keepFocus = (act: () => void) => {
    const { activeElement } = document;
    act();
    (root.activeElement as HTMLElement | null)?.blur();
    if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true });
  };

  let isOffered = false;
  /** Offers other chats to a person who is signed in, and takes the offer away from anybody else. */
  const offer = async () => {
    isOffered ||= options.continue && (await tokens.current()) !== null;
    if (!isOffered) return;
    load('continue').then(({ offerChats }) => offerChats(root, options, tokens, load), console.warn);
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
  applyColors();
  if (container) controls.place(container);
  show();
  // The visitor did not open the chat on this page, so the chat must neither cover a small screen nor take the focus.
  if (!container && (conversation.open || options.open) && !panel.covers) keepFocus(controls.open);
  return controls;
}

declare global {
  interface Window {
    /** Until the script runs, the site's configuration. After that, it also contains the widget's controls. */
    agentdWebchat?: SiteConfiguration & Partial<WidgetControls>;
  }
}

/** Begins the sign-in. A page that handles the event itself calls `preventDefault()`. */
function signIn(host: HTMLElement, address: string): void {
  const event = new CustomEvent('agentd-sign-in', { bubbles: true, cancelable: true });
  if (host.dispatchEvent(event) && address !== '') location.assign(address);
}
