import type { AskForToken } from './talk/token.ts';
import { type Texts, textsWith } from './texts.ts';

/** What a site may put into `window.agentdWebchat` before the script runs; see agentd-webchat(7). */
export interface SiteConfiguration {
  /** Asked who is signed in: a fresh token, or null for nobody. */
  token?: AskForToken;
  texts?: Partial<Texts>;
  /** Questions to begin with, one button each. */
  suggestions?: readonly string[];
}

/** The site's choices: attributes of the script element, over its configuration object. */
export interface Options {
  /** Address of the service, without a slash at the end. */
  base: string;
  texts: Texts;
  suggestions: readonly string[];
  theme: 'light' | 'dark' | 'auto';
  side: 'start' | 'end';
  direction: 'ltr' | 'rtl';
  language: string;
  /** Null: made up, for this tab. */
  user_id: string | null;
  user_name: string | null;
  token: string | null;
  ask: AskForToken | undefined;
  open: boolean;
}

const SCRIPT_PATH = '/webchat/widget.js';

/** Reads what the site asked for; what makes no sense there falls back to the default. */
export function readOptions(script: HTMLScriptElement, site: SiteConfiguration): Options {
  const data = script.dataset;
  const { title, greeting } = data;
  const direction = data.dir ?? document.documentElement.dir;
  return {
    base: (data.service ?? serviceOf(script.src)).replace(/\/+$/, ''),
    texts: textsWith({ ...site.texts, ...(title ? { title } : {}), ...(greeting ? { greeting } : {}) }),
    suggestions: data.suggestions?.split('|').map((words) => words.trim()) ?? site.suggestions ?? [],
    theme: data.theme === 'light' || data.theme === 'dark' ? data.theme : 'auto',
    side: data.side === 'start' ? 'start' : 'end',
    direction: direction === 'rtl' ? 'rtl' : 'ltr',
    language: data.lang ?? 'en',
    user_id: data.userId ?? null,
    user_name: data.userName ?? null,
    token: data.token || null,
    ask: site.token ?? askAt(data.tokenUrl),
    open: data.open !== undefined,
  };
}

/** The script is served by the service itself, so its own address tells where that is. */
function serviceOf(address: string): string {
  const { origin, pathname } = new URL(address, location.href);
  const at = pathname.lastIndexOf(SCRIPT_PATH);
  return origin + (at === -1 ? '' : pathname.slice(0, at));
}

/** For sites that write no script: an address that answers `{token}`, or 204, 401 or 403 for nobody. */
function askAt(address: string | undefined): AskForToken | undefined {
  if (!address) return undefined;
  return async () => {
    const response = await fetch(address, {
      credentials: 'include',
      headers: { Accept: 'application/json' },
    });
    if ([204, 401, 403].includes(response.status)) return null;
    if (!response.ok) throw new Error(`${address} answered ${response.status}`);
    const { token } = (await response.json()) as { token?: unknown };
    return typeof token === 'string' ? token : null;
  };
}
