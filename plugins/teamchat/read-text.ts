/** Text in angle brackets, and the three escaped characters. */
const MARKUP = /<([@#!][^<>]*|[a-z][a-z0-9+.-]{0,30}:[^<>]*)>|&(amp|lt|gt);/gi;
const ESCAPED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>' };

/**
 * Returns a text as people read it: mentions, links and dates of the platform's markup become words, and escaped
 * characters are decoded (https://docs.slack.dev/messaging/formatting-message-text). Emphasis is not changed.
 */
export function readText(markup: string): string {
  return markup.replace(MARKUP, (_whole, enclosed: string | undefined, escaped: string | undefined) =>
    enclosed === undefined ? (ESCAPED[escaped ?? ''] ?? '') : readEnclosed(enclosed),
  );
}

/**
 * Removes mentions from a text. If a mention begins the text, a comma or colon after it is removed as well: `<@U1>:
 * hello` becomes `hello`.
 * @param isMeant is called with the id of a mentioned user; if it returns true, the mention is removed
 */
export function withoutMentions(markup: string, isMeant: (user: string) => boolean): string {
  const kept: string[] = [];
  let from = 0;
  for (const found of markup.matchAll(/<@([A-Z0-9]+)(?:\|[^<>]*)?>/g)) {
    if (!isMeant(found[1] ?? '')) continue;
    kept.push(markup.slice(from, found.index).trimEnd());
    from = found.index + found[0].length;
  }
  kept.push(markup.slice(from));
  const isAddress = kept.length > 1 && kept[0] === '';
  const rest = kept.reduce(joined, '').trim();
  return isAddress ? rest.replace(/^[,:]\s*/, '') : rest;
}

/**
 * Joins the texts before and after a removed mention. A word after the mention stays separate from the text before it,
 * even if there was no white space. A comma before the mention is removed if the text or a sentence ends after the
 * mention.
 */
function joined(before: string, after: string): string {
  if (before === '') return after;
  if (/^[\p{L}\p{N}]/u.test(after)) return `${before} ${after}`;
  return before.endsWith(',') && /^(?:[?!.]|$)/.test(after) ? before.slice(0, -1) + after : before + after;
}

function readEnclosed(enclosed: string): string {
  const bar = enclosed.indexOf('|');
  const [target, label] = bar < 0 ? [enclosed, ''] : [enclosed.slice(0, bar), enclosed.slice(bar + 1)];
  switch (target[0]) {
    case '@':
      return `@${undo(label) || target.slice(1)}`;
    case '#':
      return `#${undo(label) || target.slice(1)}`;
    case '!':
      return ofCommand(target.slice(1), undo(label));
    default:
      return ofLink(undo(target), undo(label));
  }
}

/** `<!here>`, `<!subteam^S1|@team>`, `<!date^1392734382^{date}|18 Feb 2014>`. */
function ofCommand(command: string, label: string): string {
  const [name = '', argument = ''] = command.split('^', 2);
  if (name === 'date') return label || argument;
  if (label !== '') return label.startsWith('@') ? label : `@${label}`;
  return `@${argument || name}`;
}

function ofLink(address: string, label: string): string {
  const bare = address.replace(/^(?:mailto|tel):/, '');
  if (label === '' || label === address || label === bare) return bare;
  return address === `https://${label}` || address === `http://${label}` ? address : `${label} (${address})`;
}

function undo(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, (_whole, name: string) => ESCAPED[name] ?? '');
}

/** The text with its control characters escaped, as the platform wants every text that is not markup. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Characters that look like the marks of the platform, which it cannot escape. */
export const LOOKALIKES: Readonly<Record<string, string>> = { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' };

/**
 * A time that the platform shows to each reader in their own time zone
 * (https://docs.slack.dev/messaging/formatting-message-text, "Date formatting").
 * @param at ms since the epoch
 * @param form for example `{time}`
 * @param words what is shown if the platform cannot
 */
export function dateMarkup(at: number, form: string, words: string): string {
  return `<!date^${Math.floor(at / 1000)}^${form}|${escapeText(words)}>`;
}
