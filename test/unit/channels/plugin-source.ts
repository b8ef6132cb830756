/** The source code of a valid plugin module. The source code in `members` replaces the default of these members. */
export function pluginSource(members: Readonly<Record<string, string>> = {}): string {
  const all = {
    name: `'telex'`,
    apiVersion: '1',
    summary: `'By telex.'`,
    settings: '[]',
    detect: '() => true',
    create: '() => ({ routes: [], send: async () => {} })',
    delivery: `'push'`,
    capabilities: `{ textLimit: 80, markdown: 'none', typing: false }`,
    ...members,
  };
  const lines = Object.entries(all).map(([name, source]) => `  ${name}: ${source},`);
  return `export default {\n${lines.join('\n')}\n};\n`;
}
