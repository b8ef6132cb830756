/** A link whose address is sure to be no text. A sign that could undo it, such as a backslash, makes it none here. */
const PLAIN_LINK = /(?<![\\\]])\[[^[\]\\`\n]+\]\([^()<>\\\s]+\)/g;

/**
 * What GitHub's extensions need at least: a sign of a table, of what is struck out, of a mail address, of a task
 * or a footnote, the beginning of an address, or a character reference, which may be any of these. Addresses are
 * also looked for in what a text says, where a backslash is gone.
 */
const SIGN = /[|~@]|:-|-:|\[(?:\^|[\sx]\])|https?\\?:|www|&[#a-z]/i;

/** Can GitHub's extensions find anything in this text? To look for addresses takes longer than all else together. */
export function hasGfmSigns(text: string): boolean {
  return SIGN.test(text.replace(PLAIN_LINK, ''));
}
