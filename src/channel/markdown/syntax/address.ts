import type { StateInline } from 'markdown-it';

/** Where something may begin that is not plain text. */
const STOP = /[\n!#$%&*+\-:<=>@[\\\]^_`{}~]|www\.|https?:\/\//gi;
/** Scheme or `www.`, and the name of the host. */
const HOST = /(?:(https?:\/\/)|www\.)((?:[\p{L}\p{M}\p{N}_-]+\.)*[\p{L}\p{M}\p{N}_-]+)/iuy;
/** All up to white space; in a label without an address, up to what would be its address. */
const PATH = /(?:(?!\][([])[^\s<])*/uy;
/** `<scheme:…>` and `<name@host>`. A name with `!` or `|` is none here: platforms have commands of such a form. */
const ANGLE =
  /<(?:([a-z][a-z0-9+.-]{1,31}:[^\s<>\p{Cc}]*)|([\w.#$%&'*+/=?^`{}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?))>/iuy;
const MAIL = /(?<![\w.+/-])(mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[\w-]*[a-z](?![\w-])/gi;

/** Plain text up to what may be more; the parser's own rule does not know where addresses begin. */
export function text(state: StateInline, silent: boolean): boolean {
  STOP.lastIndex = state.pos;
  const end = Math.min(STOP.exec(state.src)?.index ?? state.posMax, state.posMax);
  if (end === state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, end);
  state.pos = end;
  return true;
}

/** GitHub's addresses that stand alone (https://github.github.com/gfm/#autolinks-extension-). */
export function address(state: StateInline, silent: boolean): boolean {
  // While the parser looks for the end of a label, brackets come before addresses.
  if (silent || state.linkLevel > 0 || !/[hw]/i.test(state.src.charAt(state.pos))) return false;
  HOST.lastIndex = state.pos;
  const [found, scheme, host = ''] = HOST.exec(state.src) ?? [];
  if (found === undefined || !isHost(host)) return false;
  // Not in a word; before a scheme any but a Latin letter will do.
  const isInWord = scheme === undefined ? /[\p{L}\p{M}\p{N}]$/u : /[a-z]$/i;
  if (isInWord.test(state.src.slice(Math.max(0, state.pos - 2), state.pos))) return false;
  PATH.lastIndex = state.pos + found.length;
  const shown = withoutTail(found + (PATH.exec(state.src)?.[0] ?? ''));
  pushLink(state, scheme === undefined ? `http://${shown}` : shown, shown);
  state.pos += shown.length;
  return true;
}

/** CommonMark's addresses in angle brackets (https://spec.commonmark.org/current/#autolinks). */
export function angleAddress(state: StateInline, silent: boolean): boolean {
  ANGLE.lastIndex = state.pos;
  const [found, url, mail] = ANGLE.exec(state.src) ?? [];
  if (found === undefined) return false;
  if (!silent) pushLink(state, url ?? `mailto:${mail}`, url ?? mail ?? '');
  state.pos += found.length;
  return true;
}

/** The last two parts of a host's name have no underscore; what closes emphasis is not part of it. */
function isHost(host: string): boolean {
  return !host
    .replace(/[._-]+$/, '')
    .split('.')
    .slice(-2)
    .some((part) => part.includes('_'));
}

/** The full stop of a sentence, or the bracket around an address, is not part of it. */
function withoutTail(found: string): string {
  const opened = found.split('(').length;
  let closed = found.split(')').length;
  let end = found.length;
  while (/[!"'*),.:;?_~\]]/.test(found.charAt(end - 1))) {
    const last = found.charAt(end - 1);
    if (last === ')' && closed-- <= opened) break;
    // A character reference, `&copy;`, ends a sentence as its character would.
    const reference =
      last === ';' ? /&[a-z0-9]{1,31};$/i.exec(found.slice(Math.max(0, end - 40), end)) : null;
    end -= reference?.[0].length ?? 1;
  }
  return found.slice(0, end);
}

function pushLink(state: StateInline, url: string, shown: string): void {
  state.push('link_open', 'a', 1).attrSet('href', url);
  state.push('text', '', 0).content = shown;
  state.push('link_close', 'a', -1);
}

/** The mail addresses of a text, which may stand within emphasis and behind escapes. */
export function mailIn(text: string): readonly { index: number; shown: string }[] {
  if (!text.includes('@')) return [];
  return Array.from(text.matchAll(MAIL), ({ index, 0: shown }) => ({ index, shown }));
}
