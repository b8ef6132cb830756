import type { McpEntry } from '../source-entry.ts';
import { McpFailure, McpStatus } from './mcp-failure.ts';

/** What an administrator can do if the tools of a server cannot be listed. Names the key of the entry that matters. */
export function failureAdvice(failure: unknown, { server, list_credentials }: McpEntry): string {
  if (!('url' in server))
    return 'Run the program of `command` in a terminal. It may need something in `env` of the entry: it gets nothing else but PATH.';
  if (failure instanceof McpStatus) {
    const { status } = failure;
    if (status !== 401 && status !== 403)
      return 'Check the path of the address in `mcp` of the entry, and the log of the server.';
    if (list_credentials === undefined)
      return 'The server lists its tools only with a credential. Set `list_credentials` of the entry (agentd-agent(7), "MCP").';
    return `Check \`${list_credentials}\` of the entry: the server does not accept the listing credential.`;
  }
  if (!(failure instanceof McpFailure)) return 'Check the log of the server.';
  switch (failure.reason) {
    case 'exchange_failed':
    case 'exchange_refused':
      return 'Check `exchange` of the entry, and the log of the authorization server.';
    case 'mcp_redirect':
      return 'Set `mcp` of the entry to the address that the server redirects to.';
    case 'not_mcp':
    case 'mcp_refused':
      return 'Check the address in `mcp` of the entry, and the log of the server.';
    default:
      return 'Check the address in `mcp` of the entry, and that the server runs: try curl from here.';
  }
}
