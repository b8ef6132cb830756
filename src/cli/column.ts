import { isoTime } from './time-words.ts';

/**
 * One value that a command shows: a column of a table, a line of the details of one thing, and a member of its JSON
 * object. Lists and details are arrays of these.
 */
export type Column<T> = {
  /** Heading of the column, or name of the line. Absent: the value is in the JSON only. */
  title?: string;
  /** The text that people read instead of the value. Null or empty if there is nothing to show. */
  text?(item: T): string | null | undefined;
  /** The value is a time in ms since the epoch, or null. */
  isTime?: boolean;
  align?: 'right';
  /**
   * How the column gets narrower on a terminal that is too narrow for the table: its text is wrapped or cut.
   * Absent: it stays whole, since people copy ids.
   */
  narrow?: 'wrap' | 'cut';
} & (
  | { json: keyof T & string; value?: undefined }
  // Without `json`, the value is for people only.
  | { json?: string; value(item: T): unknown }
  | { json?: undefined; value?: undefined; text(item: T): string | null | undefined }
);

/** The JSON object of an item. Times are ISO 8601. */
export function jsonOf<T>(columns: readonly Column<T>[], item: T): Record<string, unknown> {
  const members = columns.flatMap((column) =>
    column.json === undefined ? [] : [[column.json, jsonValue(column, item)]],
  );
  return Object.fromEntries(members);
}

/**
 * What people read in a column.
 * @param time how a time is shown
 */
export function textOf<T>(column: Column<T>, item: T, time: (at: number) => string): string {
  if (column.text) return column.text(item) ?? '';
  const value = rawValue(column, item);
  if (value === null || value === undefined) return '';
  return column.isTime ? time(Number(value)) : String(value);
}

function jsonValue<T>(column: Column<T>, item: T): unknown {
  const value = rawValue(column, item);
  return column.isTime && typeof value === 'number' ? isoTime(value) : value;
}

function rawValue<T>(column: Column<T>, item: T): unknown {
  if (column.value) return column.value(item);
  return column.json === undefined ? undefined : item[column.json as keyof T];
}
