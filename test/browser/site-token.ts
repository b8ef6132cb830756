/** Returns a token like those that a site signs, with a dummy signature. These tests do not check the signature. */
export function tokenFor(sub: string, seconds = 3600): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part({ sub, exp: Math.floor(Date.now() / 1000) + seconds })}.c2ln`;
}
