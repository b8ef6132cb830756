import pino from 'pino';
import type { Log } from '../../daemon/log.ts';

/** Warnings of a call, for the operator who makes it: each on a line of standard error. */
export function operatorLog(note: (text: string) => void): Log {
  const write = (line: string) => {
    const { msg, tool, reason, because, err } = JSON.parse(line) as {
      msg: string;
      tool?: string;
      reason?: string;
      because?: string;
      err?: { message: string };
    };
    const details = [tool, reason, because, err?.message].filter(
      (detail) => detail !== undefined && !msg.includes(detail),
    );
    note(`warning: ${[msg, ...details].join(': ')}`);
  };
  return pino({ level: 'warn', base: null }, { write });
}
