import type { StateInline } from 'markdown-it';

/** Characters at which something other than plain text may begin. */
const STOP = /[\n!#$%&*+\-:<=>@[\\\]^_`{}~]|www\.|https?:\/\//gi;
/** Scheme or `www.`, and the host name. */
const HOST = /(?:(https?:\/\/)|www\.)((?:[\p{L}\p{M}\p{N}_-]+\.)*[\p{L}\p{M}\p{N}_-]+)/iuy;
/**
 * The rest of an address: everything up to white space or `<`, or up to `](` or `][`, which end the label of a link.
 */
const PATH = /(?:(?!\][([])[^\s<])*/uy;
/**
 * `<scheme:…>` and `<name@host>`. A name with `!` or `|` does not count, because platforms have commands in this
 * form.
 */
const ANGLE =
  /<(?:([a-z][a-z0-9+.-]{1,31}:[^\s<>\p{Cc}]*)|([\w.#$%&'*+/=?^`{}~-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?))>/iuy;
const MAIL = /(?<![\w.+/-])(mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[\w-]*[a-z](?![\w-])/gi;

/** Plain text up to the next possible markup. The parser's own rule does not know where addresses begin. */
export function text(state: StateInline, silent: boolean): boolean {
  STOP.lastIndex = state.pos;
  const end = Math.min(STOP.exec(state.src)?.index ?? state.posMax, state.posMax);
  if (end === state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, end);
  state.pos = end;
  return true;
}

/** GitHub's bare addresses (https://github.github.com/gfm/#autolinks-extension-). */
export function address(state: StateInline, silent: boolean): boolean {
  // While the parser searches for the end of a label, brackets have priority over addresses.
  if (silent || state.linkLevel > 0 || !/[hw]/i.test(state.src.charAt(state.pos))) return false;
  HOST.lastIndex = state.pos;
  const [found, scheme, host = ''] = HOST.exec(state.src) ?? [];
  if (found === undefined || !isHost(host)) return false;
  // An address cannot begin inside a word. Before a scheme, any character except a Latin letter is allowed.
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

/**
 * Whether a host name is valid: its last two parts contain no underscore. Closing emphasis is not part of the host
 * name.
 */
function isHost(host: string): boolean {
  return !host
    .replace(/[._-]+$/, '')
    .split('.')
    .slice(-2)
    .some((part) => part.includes('_'));
}

/** Removes the period of a sentence and a bracket around an address, which are not part of the address. */
function withoutTail(found: string): string {
  const opened = found.split('(').length;
  let closed = found.split(')').length;
  let end = found.length;
  while (/[!"'*),.:;?_~\]]/.test(found.charAt(end - 1))) {
    const last = found.charAt(end - 1);
    if (last === ')' && closed-- <= opened) break;
    // A character reference at the end, such as `&copy;`, is removed as the character itself would be.
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

/** The mail addresses in a text. They may be in emphasis and after escapes. */
export function mailIn(text: string): readonly { index: number; shown: string }[] {
  if (!text.includes('@')) return [];
  return Array.from(text.matchAll(MAIL), ({ index, 0: shown }) => ({ index, shown }));
}
