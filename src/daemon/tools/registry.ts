import type { Tool } from '../agent/tools.ts';
import type { Clock } from '../clock.ts';
import { createBusinessApi } from '../downstream/call.ts';
import { createDownstream } from '../downstream/client.ts';
import { createDefaultToken } from '../downstream/default-token.ts';
import type { Seal } from '../identity/seal.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings/settings.ts';
import { createGetUser } from './get-user.ts';

/**
 * The tools that the settings give the agent. Without `API_BASE_URL` there is none: an agent that has no
 * tool says so better than one whose tool always fails.
 */
export function createTools(settings: Settings, parts: { seal: Seal; clock: Clock; log: Log }): Tool[] {
  if (settings.API_BASE_URL === undefined) return [];
  const downstream = createDownstream({
    baseUrl: settings.API_BASE_URL,
    timeoutMs: settings.API_TIMEOUT_SECONDS * 1000,
  });
  const defaultToken = createDefaultToken({
    downstream,
    email: settings.API_EMAIL,
    password: settings.API_PASSWORD,
    clock: parts.clock,
  });
  const api = createBusinessApi({ ...parts, settings, downstream, defaultToken });
  return [createGetUser(api, settings.API_PUBLIC_USER_FIELDS)];
}
