/** The prefix of the settings of a channel: its name in upper snake case, and an underscore. */
export function prefixOf(channel: string): string {
  return `${channel.toUpperCase().replaceAll('-', '_')}_`;
}
