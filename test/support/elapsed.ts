/** What a program has taken since then (`performance.now()`): `12.3 s, 11.0 s of CPU`. */
export function elapsed(began: number): string {
  const { user, system } = process.cpuUsage();
  return `${secondsSince(began)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`;
}

export function secondsSince(began: number): string {
  return ((performance.now() - began) / 1000).toFixed(1);
}
