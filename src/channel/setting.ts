/**
 * What one setting is. The daemon's own settings and those of a channel are records of this one form:
 * from a record come validation, the reference, the JSON Schema, the manual page and the masked display.
 */
export type SettingRecord =
  | (SettingBase & { kind: 'string'; default?: string; pattern?: RegExp })
  | (SettingBase & { kind: 'integer'; default?: number; min: number; max: number; unit?: string })
  | (SettingBase & { kind: 'boolean'; default?: boolean })
  | (SettingBase & { kind: 'choice'; choices: readonly string[]; default?: string })
  | (SettingBase & { kind: 'list'; default?: readonly string[] })
  | (SettingBase & { kind: 'url'; default?: string });

interface SettingBase {
  /** Upper snake case, the same in the environment, in `.env` and in the configuration file. */
  name: string;
  /** One sentence for an operator: what it does, and its unit where it has one. */
  sentence: string;
  /** The daemon does not start without it (for a channel: the channel is not configured without it). */
  required?: boolean;
  /** Shown as `[secret]` everywhere. The daemon also reads it from the file that `<name>_FILE` names. */
  secret?: boolean;
  /** A value of the right form for the reference, where the default does not say enough. */
  example?: string;
}

/** A secret prints as `[secret]` everywhere; only `reveal()` gives it out. */
export interface SecretValue {
  reveal(): string;
}

/** A value after validation. */
export type SettingValue = string | number | boolean | readonly string[] | SecretValue;

/** The validated settings that a channel is given: its own records, by name; absent ones are undefined. */
export type ChannelSettings = Readonly<Record<string, SettingValue | undefined>>;
