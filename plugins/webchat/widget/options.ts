import type { AskForToken } from './talk/token.ts';
import { type Texts, textsWith, translationFor } from './texts.ts';

/** The configuration that a site may put into `window.agentdWebchat` before the script runs; see agentd-webchat(7). */
export interface SiteConfiguration {
  /** Returns a fresh token of the person who is signed in, or null. */
  token?: AskForToken;
  texts?: Partial<Texts>;
  /** Suggested questions. Each becomes a button. */
  suggestions?: readonly string[];
}

/** The site's options. Attributes of the script element have priority over the site's configuration object. */
export interface Options {
  /** Address of the service, without a slash at the end. */
  base: string;
  texts: Texts;
  suggestions: readonly string[];
  theme: 'light' | 'dark' | 'auto';
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
export function readOptions(script: HTMLScriptElement, site: SiteConfiguration): Options {
  const data = script.dataset;
  const { title, greeting } = data;
  const direction = data.dir ?? document.documentElement.dir;
  const [language, served] = translationFor(data.lang);
  return {
    base: (data.service ?? serviceOf(script.src)).replace(/\/+$/, ''),
    texts: textsWith(served, {
      ...site.texts,
      ...(title && { title }),
      ...(greeting && { greeting }),
    }),
    suggestions: data.suggestions?.split('|').map((words) => words.trim()) ?? site.suggestions ?? [],
    theme: data.theme === 'light' || data.theme === 'dark' ? data.theme : 'auto',
    side: data.side === 'start' ? 'start' : 'end',
    direction: direction === 'rtl' ? 'rtl' : 'ltr',
    language,
    user_id: data.userId ?? null,
    user_name: data.userName ?? null,
    token: data.token || null,
    ask: site.token ?? askAt(data.tokenUrl),
    open: data.open !== undefined,
  };
}

/** The address of the service. By default, it is the address of the script, because the service serves the script. */
function serviceOf(address: string): string {
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
