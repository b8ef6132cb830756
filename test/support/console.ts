/** A command as a document shows it, with what it prints there. */
export interface ShownCommand {
  line: string;
  prints: string;
}

/** The commands of a block of a console: those after `$ `, each with the lines that follow it. */
export function shownCommands(block: string): ShownCommand[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((entry) => {
      // A command goes on in the next line after a backslash.
      const [line = ''] = /^(?:.*\\\n)*.*/.exec(entry) ?? [];
      return { line, prints: entry.slice(line.length + 1) };
    });
}

/** What is printed fits what is shown: `…` stands for anything; blanks for any blanks, since tables vary in width. */
export function outputPattern(shown: string): RegExp {
  const [first = '', ...rest] = shown
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/ +/g, '[ ]+')
    .split('…');
  const last = rest.pop();
  if (last === undefined) return new RegExp(`^${first}$`);
  // Each is looked for once, where it comes first: trying all places would take forever if one of many is missing.
  // The blanks at its end are as few as possible: the next one may begin with others.
  const middle = rest
    .map((piece) => piece.replace(/\]\+$/, ']+?'))
    .map((piece, place) => `(?=([^]*?${piece}))\\${place + 1}`)
    .join('');
  return new RegExp(`^${first.replace(/\]\+$/, ']+?')}${middle}[^]*${last}$`);
}
