/**
 * One setting of the daemon or of a channel. The validation, the reference, the JSON Schema, the manual page and the
 * masked display are generated from this record.
 */
export type SettingRecord =
  /** `several`: may hold several values, one per line; the configuration file may have a list instead. */
  | (SettingBase & { kind: 'string'; default?: string; pattern?: RegExp; several?: boolean })
  | (SettingBase & { kind: 'integer'; default?: number; min: number; max: number; unit?: string })
  /** May have decimals. */
  | (SettingBase & { kind: 'number'; default?: number; min: number; max: number; unit?: string })
  | (SettingBase & { kind: 'boolean'; default?: boolean })
  | (SettingBase & { kind: 'choice'; choices: readonly string[]; default?: string })
  | (SettingBase & { kind: 'list'; default?: readonly string[] })
  | (SettingBase & { kind: 'url'; default?: string });

interface SettingBase {
  /** Upper snake case. The same name in the environment, in `.env` and in the configuration file. */
  name: string;
  /** One sentence for operators: what the setting does, with its unit. */
  sentence: string;
  /** Without it the channel is not configured. Without a required setting of the daemon, the daemon does not start. */
  required?: boolean;
  /** Shown as `[secret]`. The daemon also reads it from the file that `<name>_FILE` names. */
  secret?: boolean;
  /** A sample value for the reference, if the default does not show the form. */
  example?: string;
}

/** A secret, which prints as `[secret]`. Only `reveal()` returns it. */
export interface SecretValue {
  reveal(): string;
}

/** A validated value. */
export type SettingValue = string | number | boolean | readonly string[] | SecretValue;

/** The validated settings of one channel, by name. Settings that are not set are undefined. */
export type ChannelSettings = Readonly<Record<string, SettingValue | undefined>>;

/** The setting that names the file of a secret: `JWT_SECRET_KEY_FILE`. */
export function fileSetting(secret: string): string {
  return `${secret}_FILE`;
}

/** The text of a secret; empty if it is not set. An active channel has all secrets that it requires. */
export function readSecret(settings: ChannelSettings, name: string): string {
  const value = settings[name];
  return typeof value === 'object' && 'reveal' in value ? value.reveal() : '';
}

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

/** The texts of a channel, from the sentence and the English text of each. Their names begin with the channel's name. */
export function channelTexts<Name extends string>(
  channel: string,
  texts: Readonly<Record<Name, readonly [sentence: string, english: string]>>,
): Readonly<Record<Name, ChannelText>> {
  const entries = Object.entries<readonly [string, string]>(texts);
  const prefix = channel.replaceAll('-', '_');
  return Object.fromEntries(
    entries.map(([name, [sentence, english]]) => [
      name,
      { name: `${prefix}_${name}`, sentence, default: english },
    ]),
  ) as Record<Name, ChannelText>;
}

/**
 * A time in a text, to the minute: `2026-01-31 13:00` in a time zone, or else `2026-01-31 12:00 UTC`.
 *
 * @param at ms since the epoch
 * @param timezone IANA name
 */
export function formatMinute(at: number, timezone?: string | null): string {
  const minute = (timeZone: string) =>
    new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(at);
  try {
    if (timezone) return minute(timezone);
  } catch (error) {
    // A token may name a zone that this runtime does not know.
    if (!(error instanceof RangeError)) throw error;
  }
  return `${minute('UTC')} UTC`;
}

/** Fills in all placeholders of a text at once, so that a value that looks like a placeholder is not replaced. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (found, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : found,
  );
}

/** The names of the placeholders in a text, without the braces. */
export function findPlaceholders(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\{(\w+)\}/g), ([, name = '']) => name))];
}
