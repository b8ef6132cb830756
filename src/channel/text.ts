/**
 * A text that people read and that a channel wrote. Operators can replace it for each language (agentd-settings(5),
 * "Texts"); `ChannelScope.say` finds it in the language of its reader.
 */
export interface ChannelText {
  /** Lower case, begins with the channel's name: `telex_signed_out`. */
  name: string;
  /** Who reads it, and when. One sentence for operators. */
  sentence: string;
  /** The English text. `{name}` is filled in. */
  default: string;
}

/** A text with its placeholders filled in, all at once: a value that looks like a placeholder stays as it is. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (found, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : found,
  );
}

/** The names in braces of a text. */
export function placeholdersOf(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\{(\w+)\}/g), ([, name = '']) => name))];
}
