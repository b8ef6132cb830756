import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * A copy of an agent in `test/fixtures` that talks to this server. The address is written into the copy, because several
 * daemons may run in the process of the test and share its environment.
 * @returns the path, for AGENT_RUNTIME
 */
export function sampleAgent(name: string, url: string): string {
  const source = readFileSync(resolve(import.meta.dirname, '../fixtures', name), 'utf8');
  const path = join(mkdtempSync(join(tmpdir(), 'agentd-agent-')), name);
  writeFileSync(path, source.replace(/process\.env\.SERVER_URL/, JSON.stringify(url)));
  return path;
}
