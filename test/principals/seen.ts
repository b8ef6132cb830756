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

/** What the words of the daemon mean. */
const WORDS: Record<string, string> = {
  'it isn’t known': 'unknown',
  'not done, because': 'left out',
  'nothing was done:': 'declined',
};

/** The lines of the daemon about actions: each with the mark, or else the title, and the outcome. */
export function linesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const outcome =
      /(?: – |and )(done|failed|it isn’t known|not done, because|declined|nothing was done:)/.exec(line)?.[1];
    if (outcome === undefined) return [];
    const { [outcome]: word = outcome } = WORDS;
    if (word === 'left out' || word === 'declined') return deedsIn(line).map((mark) => `${mark} ${word}`);
    return [`${deedsIn(line)[0] ?? /(\w+) –/.exec(line)?.[1]} ${word}`];
  });
}
