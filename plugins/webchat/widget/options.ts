import type { AskForToken } from './talk/token.ts';
import { type Texts, textsWith, translationFor } from './texts.ts';
import type { PanelOptions } from './view/panel.ts';
import type { Theme } from './view/theme.ts';

/** The configuration that a site may put into `window.agentdWebchat` before the script runs; see agentd-webchat(7). */
export interface SiteConfiguration {
  /** Returns a fresh token of the person who is signed in, or null. */
  token?: AskForToken;
  texts?: Partial<Texts>;
  /** Suggested questions. Each becomes a button. */
  suggestions?: readonly string[];
}

/** The site's options. Attributes of the script element have priority over the site's configuration object. */
export interface Options extends PanelOptions {
  /** Address of the service, without a slash at the end. */
  base: string;
  texts: Texts;
  theme: Theme;
  /** Address of the site's sign-in. Empty: only the event is sent. Null: there is no button. */
  sign_in_url: string | null;
  /** Whether a signed-in person is offered to continue on a chat platform. */
  continue: boolean;
  /** Whether the conversation outlives its tab. */
  history: boolean;
  side: 'start' | 'end';
  direction: 'ltr' | 'rtl';
  language: string;
  /** Null if the widget should generate an id for this tab. */
  user_id: string | null;
  user_name: string | null;
  token: string | null;
  ask: AskForToken | undefined;
  open: boolean;
}

const SCRIPT_PATH = '/webchat/widget.js';

/** Reads the site's options. An invalid option falls back to its default. */
export async function readOptions(script: HTMLScriptElement, site: SiteConfiguration): Promise<Options> {
  const data = script.dataset;
  const { title, greeting } = data;
  const direction = data.dir ?? document.documentElement.dir;
  const base = (data.service ?? resolveService(script.src)).replace(/\/+$/, '');
  // `auto` is the language of the browser, whatever language the page has.
  const auto = data.lang === 'auto';
  const lang = auto ? '' : document.documentElement.lang;
  const [language, served] = await translationFor(auto ? undefined : data.lang, lang, async (tag) => {
    const response = await fetch(`${base}/webchat/texts/${tag}`, { credentials: 'omit' });
    if (!response.ok) throw new Error(String(response.status));
    return (await response.json()) as Texts;
  });
  const token = data.token || null;
  const ask = site.token ?? askAt(data.tokenUrl);
  const texts = textsWith(served, {
    ...site.texts,
    ...(title && { title }),
    ...(greeting && { greeting }),
  });
  // Nobody can be signed in on a page without a token.
  if (!ask && !token) texts.signInNeeded = texts.signInElsewhere;
  return {
    base,
    texts,
    token,
    ask,
    suggestions: data.suggestions?.split('|').map((words) => words.trim()) ?? site.suggestions ?? [],
    theme: data.theme === 'light' || data.theme === 'dark' ? data.theme : 'auto',
    logo: data.logo || null,
    notice: data.notice || null,
    sign_in_url: data.signInUrl ?? null,
    credentials: data.credentials !== 'off',
    continue: data.continue !== 'off',
    feedback: data.feedback !== 'off',
    history: data.history !== 'off',
    side: data.side === 'start' ? 'start' : 'end',
    direction: direction === 'rtl' ? 'rtl' : 'ltr',
    language,
    user_id: data.userId ?? null,
    user_name: data.userName ?? null,
    open: data.open !== undefined,
  };
}

/** The address of the service. By default, it is the address of the script, because the service serves the script. */
function resolveService(address: string): string {
  const { origin, pathname } = new URL(address);
  const at = pathname.lastIndexOf(SCRIPT_PATH);
  return origin + (at === -1 ? '' : pathname.slice(0, at));
}

/**
 * Requests the token from an address, for sites without a script of their own. The address answers with `{token}`, or
 * with 204, 401 or 403 if nobody is signed in.
 */
function askAt(address: string | undefined): AskForToken | undefined {
  if (!address) return undefined;
  return async () => {
    const response = await fetch(address, {
      credentials: 'include',
      headers: { Accept: 'application/json' },
    });
    if ([204, 401, 403].includes(response.status)) return null;
    if (!response.ok) throw new Error(`${address}: ${response.status}`);
    const { token } = (await response.json()) as { token?: unknown };
    return typeof token === 'string' ? token : null;
  };
}
