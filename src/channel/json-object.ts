/** Whether a value is an object with members, and not a list or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of a JSON object; none if the text is anything else. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  return jsonObjectOrNull(text) ?? {};
}

/** The members of a JSON object; null if the text is anything else. */
export function jsonObjectOrNull(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    // The text is, for example, the error page of a proxy, or a line that another program wrote.
    return null;
  }
}
