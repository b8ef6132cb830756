/**
 * The entry `agentd/widget` of the package, for sites with a bundler. It loads the widget's script from the service, so
 * that the widget always fits the service, and adds types.
 */
import type { SiteConfiguration } from './options.ts';
import type { WidgetControls } from './widget.ts';

export type { SiteConfiguration } from './options.ts';
export type { WidgetControls } from './widget.ts';

/** The options of the script element, as in agentd-webchat(7), "Attributes of the script element", and the site's configuration. */
export interface WidgetOptions extends SiteConfiguration {
  title?: string;
  greeting?: string;
  /** A language tag, or `auto` for the language of the browser. By default, the language of the page. */
  lang?: string;
  theme?: 'auto' | 'light' | 'dark';
  side?: 'start' | 'end';
  dir?: 'ltr' | 'rtl';
  /** Address of an image. */
  logo?: string;
  /** A line below the input field, for example that answers come from an AI. */
  notice?: string;
  /** Address of the site's sign-in. Empty: only the event `agentd-sign-in` is sent. */
  signInUrl?: string;
  tokenUrl?: string;
  userId?: string;
  userName?: string;
  credentials?: 'off';
  continue?: 'off';
  feedback?: 'off';
  history?: 'off';
  /** Opens the chat at once. */
  open?: boolean;
}

declare global {
  interface HTMLElementTagNameMap {
    /** The place of the chat in the page. */
    'agentd-chat': HTMLElement;
  }
  interface DocumentEventMap {
    /** The visitor wants to sign in. A page that handles it calls `preventDefault()`. */
    'agentd-sign-in': CustomEvent<null>;
  }
  interface WindowEventMap {
    /** The controls are in `window.agentdWebchat`. */
    'agentd-webchat-ready': CustomEvent<null>;
  }
}

/** How long the widget may take to start, in ms. */
const START_MS = 60_000;

let loading: Promise<WidgetControls> | null = null;

/**
 * Adds the widget to the page. There is one widget in a page: later calls return the same controls, and their arguments
 * are ignored.
 * @param service address of agentd, as in `https://chat.example.com`
 * @throws Error if the script cannot be loaded; a later call tries again
 */
export function loadWidget(service: string, options: WidgetOptions = {}): Promise<WidgetControls> {
  loading ??= load(service, options).catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function load(
  service: string,
  { token, texts, suggestions, open, ...attributes }: WidgetOptions,
): Promise<WidgetControls> {
  const configuration = { token, texts, suggestions } as SiteConfiguration;
  window.agentdWebchat = configuration;
  const script = document.createElement('script');
  Object.assign(script.dataset, attributes, open && { open: '' });
  const source = `${service.replace(/\/+$/, '')}/webchat/widget.js`;
  const ready = new Promise((resolve, reject) => {
    addEventListener('agentd-webchat-ready', resolve, { once: true });
    const fail = () => reject(new Error(`${source} cannot be loaded`));
    script.addEventListener('error', fail, { once: true });
    // Another page may have answered, for example the sign-in of a proxy.
    setTimeout(fail, START_MS);
  });
  script.src = source;
  document.head.append(script);
  await ready.finally(() => script.remove());
  return window.agentdWebchat as WidgetControls;
}
