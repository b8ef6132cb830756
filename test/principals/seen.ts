import { marksIn } from './marks.ts';

/** The name of the person for whom the run of a reply acted. See `Seen.actedFor`. */
export function actedFor(reply: string): string | null | undefined {
  const who = /^\S+ for (\S+):/.exec(reply)?.[1];
  return who === 'nobody' ? null : who;
}

/** The marks of the messages that a run got as messages of its person. */
export function said(reply: string): string[] {
  return marksIn(/; said (.*)$/s.exec(reply)?.[1] ?? '');
}
