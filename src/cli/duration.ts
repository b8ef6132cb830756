const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const WRITTEN = /^(\d{1,9})([smhd]?)$/;

/** A duration as people type it: `90` or `90s`, `15m`, `24h`, `7d`. @returns seconds; null if it is not a duration */
export function parseDuration(text: string): number | null {
  const written = WRITTEN.exec(text);
  if (!written) return null;
  return Number(written[1]) * (UNITS[written[2] as keyof typeof UNITS] ?? 1);
}

/** A duration as people read it, in its two largest units: `23 h 12 min`, `6 days 4 h`, `40 s`. */
export function durationInWords(seconds: number): string {
  const whole = Math.trunc(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'days'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${count === 1 && unit === 'days' ? 'day' : unit}`)
    .join(' ');
}
