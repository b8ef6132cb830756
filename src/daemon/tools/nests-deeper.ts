/** Whether the brackets of a JSON text are nested deeper than `max`. Reads the text once, without parsing it. */
export function nestsDeeper(text: string, max: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      depth++;
      if (depth > max) return true;
    } else if (character === '}' || character === ']') depth--;
  }
  return false;
}
