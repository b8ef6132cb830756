/** Returns a token like those that a site signs, with a dummy signature. These tests do not check the signature. */
export function tokenFor(
  sub: string,
  { seconds = 3600, ...claims }: { seconds?: number; name?: string } = {},
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + seconds;
  return `${part({ alg: 'HS256' })}.${part({ sub, exp, ...claims })}.c2ln`;
}
