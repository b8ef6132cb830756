/** The only writer: data to stdout (a table for people, one JSON document with `--json`), the rest to stderr. */
export interface Output {
  json: boolean;
  /** stdout is a terminal: tables may use its width. */
  terminal: boolean;
  /** stdout may be coloured (a terminal, and no NO_COLOR). */
  colour: boolean;
  /** Prints data: `value` with `--json`, else what `text` makes of it. */
  data(value: unknown, text: () => string): void;
  /** Prints text to stdout as it is, for commands whose output is not one document. */
  write(text: string): void;
  /** A line for the person, to stderr. */
  note(text: string): void;
  /** Aligned columns; no borders. Cells are cut only on a terminal. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): string;
}
