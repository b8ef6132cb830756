import { fstatSync } from 'node:fs';

/** Priorities of syslog(3) for the levels of the log. */
const PRIORITIES: Readonly<Record<string, number>> = {
  fatal: 2,
  error: 3,
  warn: 4,
  info: 6,
  debug: 7,
  trace: 7,
};

/**
 * Whether standard error is connected to the journal of systemd: JOURNAL_STREAM names the device and inode of the stream
 * (systemd.exec(5)).
 */
export function isJournalStream(named: string | undefined): boolean {
  if (named === undefined) return false;
  const { dev, ino } = fstatSync(2);
  return named === `${dev}:${ino}`;
}

/** A log line with the prefix from which the journal takes its priority (sd-daemon(3)). */
export function withPriority(line: string): string {
  const level = /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? 'info';
  return `<${PRIORITIES[level] ?? PRIORITIES.info}>${line}`;
}
