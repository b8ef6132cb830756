import { describeSource } from './describe-source.ts';
import type { CredentialForm } from './downstream/credential-form.ts';
import type { McpEntry, OpenApiEntry, SourceEntry } from './source-entry.ts';
import type { CredentialPolicy } from './tool.ts';

/** Which token of a person a source of tools can see. */
export interface TokenReach {
  /** `name` of the entry, or the path of a module. */
  source: string;
  kind: SourceEntry['kind'];
  /** Null if the source has no address. */
  origin: string | null;
  /** `own`: the person's own token. `exchanged`: only a token that is issued in exchange for the person's own token. */
  token: 'own' | 'exchanged' | 'none';
  /** Where its requests carry a token of any kind; null if the source has no address. */
  credential: CredentialForm | null;
}

/** The token that a source may see, according to its entry; for `agentd config check`. */
export function tokenReach(entry: SourceEntry, api_base_url: string | undefined): TokenReach {
  const info = describeSource(entry, api_base_url);
  const { name: source, origin, target } = info;
  const { kind } = entry;
  const policies = entry.kind === 'module' ? [undefined] : policiesOf(entry);
  // Each tool of a module chooses its credentials, so the module may see the person's token.
  const isOwn = (policy: CredentialPolicy | undefined) =>
    policy === undefined
      ? target?.is_api === true && entry.kind !== 'mcp'
      : policy === 'user' || policy === 'user-or-default';
  const token =
    target?.may_see_user_token && policies.some(isOwn)
      ? 'own'
      : target?.exchange && policies.includes('exchange')
        ? 'exchanged'
        : 'none';
  return { source, kind, origin, token, credential: target?.credential ?? null };
}

function policiesOf(entry: OpenApiEntry | McpEntry): (CredentialPolicy | undefined)[] {
  const tools = Object.values(entry.kind === 'openapi' ? entry.operations : entry.tools);
  return tools.map(({ credentials }) => credentials ?? entry.credentials);
}
