/** A payload of the platform, or a part of it, that has not been checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Ids are opaque, but contain only these characters. If a colon were allowed, one id could look like two. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const TIMESTAMP = /^\d{1,11}\.\d{1,9}$/;

/**
 * Used if a payload does not name the workspace. A bot token is valid for only one workspace, so the payload belongs to
 * that workspace.
 */
export const UNTOLD_TEAM = '-';

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

export function isTimestamp(value: unknown): value is string {
  return typeof value === 'string' && TIMESTAMP.test(value);
}

/** The fields of an object; empty for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
