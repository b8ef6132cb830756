/** Text that came from outside, safe for a terminal: what could move its cursor or colour it is replaced. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '\u{fffd}');
}

/** The same on one line: line breaks become spaces. */
export function printable(text: string): string {
  return withoutControls(text.replace(/\s+/g, ' '));
}
