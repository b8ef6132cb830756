/** The members of a JSON object; none if the text is anything else. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // A page of a proxy, or a line that another program wrote.
    return {};
  }
}
