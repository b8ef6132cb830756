import { existsSync, readFileSync } from 'node:fs';

/**
 * Processor time that a process has used so far, ms; 0 if the system does not report it. proc(5) has user and system
 * time in hundredths of a second.
 */
export function cpuOf(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return 0;
  // The second field is the program's name in brackets, which may contain anything.
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
