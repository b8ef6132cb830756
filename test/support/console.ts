/** A command in a document, with the output that the document shows. */
export interface ShownCommand {
  line: string;
  prints: string;
}

/** The commands of a console block. Each begins after `$ `, and its output is the lines that follow it. */
export function shownCommands(block: string): ShownCommand[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((entry) => {
      // A command continues on the next line after a backslash.
      const [line = ''] = /^(?:.*\\\n)*.*/.exec(entry) ?? [];
      return { line, prints: entry.slice(line.length + 1) };
    });
}

/**
 * A pattern for the output that a document shows. `…` matches anything, and spaces match any number of spaces.
 */
export function outputPattern(shown: string): RegExp {
  const [first = '', ...rest] = shown
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/ +/g, '[ ]+')
    .split('…');
  const last = rest.pop();
  if (last === undefined) return new RegExp(`^${first}$`);
  // Each part is searched for once, at the first possible place: trying all places would take forever if one of many
  // parts is missing. A part ends with as few spaces as possible, because the next part may begin with spaces.
  const middle = rest
    .map((piece) => piece.replace(/\]\+$/, ']+?'))
    .map((piece, place) => `(?=([^]*?${piece}))\\${place + 1}`)
    .join('');
  return new RegExp(`^${first.replace(/\]\+$/, ']+?')}${middle}[^]*${last}$`);
}
