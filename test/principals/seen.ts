import { outcomeIn } from '../support/marked-texts.ts';
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

/** The lines of the daemon about actions: each with the mark, or else the title, and the outcome. */
export function linesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const outcome = outcomeIn(line);
    if (outcome === null) return [];
    const marks = deedsIn(line);
    const named = marks.length > 0 ? marks : [/(\w+) –/.exec(line)?.[1]];
    return named.map((one) => `${one} ${outcome}`);
  });
}
