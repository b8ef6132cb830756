/**
 * A text that a channel shows to people. Operators can replace it for each language (agentd-settings(5), "Texts");
 * `ChannelScope.say` finds it in the language of its reader.
 */
export interface ChannelText {
  /** Lower case, begins with the channel's name: `telex_signed_out`. */
  name: string;
  /** One sentence for operators: who reads the text, and when. */
  sentence: string;
  /** The English text. `{name}` is filled in. */
  default: string;
}

/** Fills in all placeholders of a text at once, so that a value that looks like a placeholder is not replaced. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (found, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : found,
  );
}

/** The names of the placeholders in a text, without the braces. */
export function placeholdersOf(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\{(\w+)\}/g), ([, name = '']) => name))];
}
