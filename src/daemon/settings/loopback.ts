/** Whether only this machine can reach the address. Names other than `localhost` are not resolved. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);
}
