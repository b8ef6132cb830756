/** The members of a JSON object; none if the text is anything else. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  return jsonObjectOrNull(text) ?? {};
}

/** The members of a JSON object; null if the text is anything else. */
export function jsonObjectOrNull(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    // The text is, for example, the error page of a proxy, or a line that another program wrote.
    return null;
  }
}
