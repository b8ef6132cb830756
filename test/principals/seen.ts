import { deedsIn, marksIn } from './marks.ts';

/** The name of the person for whom the run of a reply acted. See `Seen.actedFor`. */
export function actedFor(reply: string): string | null | undefined {
  const who = /^\S+ for (\S+):/m.exec(reply)?.[1];
  return who === 'nobody' ? null : who;
}

/** The marks of the messages that a run got as messages of its person. */
export function said(reply: string): string[] {
  return marksIn(/; said (.*)$/m.exec(reply)?.[1] ?? '');
}

/** The outcomes that a line says in several words. */
const OUTCOMES: Readonly<Record<string, string>> = {
  'it isn’t known': 'unknown',
  'not done, because': 'left out',
};

/** The lines of the daemon about actions: each with the mark, or else the title, and the outcome. */
export function linesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const end = / – (done|failed|it isn’t known|declined|not done, because)/.exec(line)?.[1];
    const outcome = OUTCOMES[end ?? ''] ?? end ?? (/nothing was done: /.test(line) ? 'declined' : null);
    if (outcome === null) return [];
    const marks = deedsIn(line);
    if (outcome === 'declined' || outcome === 'left out') return marks.map((mark) => `${mark} ${outcome}`);
    return [`${marks[0] ?? /(\w+) –/.exec(line)?.[1]} ${outcome}`];
  });
}
