/** Is this an address of this machine alone? Names other than `localhost` are not resolved. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);
}
