import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SAMPLE_DOCUMENT, SAMPLE_TOOLS } from '../../plugins/sample/document.ts';
import { type EvalOutcome, evaluate } from '../../src/daemon/admin/eval.ts';
import { readCases } from '../../src/daemon/eval/read-cases.ts';
import { configure, pluginsAt } from '../../src/daemon/settings/configure/configure.ts';
import { baseEnv } from './daemon.ts';
import { collectLog } from './log-lines.ts';

/** A folder with a configuration whose tools are those of the sample company. */
export function shopFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentd-eval-'));
  writeFileSync(join(folder, 'shop.json'), JSON.stringify(SAMPLE_DOCUMENT));
  writeFileSync(
    join(folder, 'agentd.yaml'),
    JSON.stringify({
      tools: [
        { openapi: './shop.json', ...SAMPLE_TOOLS },
        // Nobody in particular may see the status of orders.
        {
          openapi: './shop.json',
          name: 'open',
          operations: {
            listOrders: { credentials: 'user-or-default', public: ['status'], as: 'open_orders' },
            cancelOrder: { credentials: 'default', confirm: 'never', as: 'open_cancel' },
          },
        },
      ],
    }),
  );
  return folder;
}

/** Settings of the sample company. Nothing listens at the address of its API. */
export const SHOP_ENV = {
  API_BASE_URL: 'http://127.0.0.1:9',
  API_EMAIL: 'service@example.com',
  API_PASSWORD: 'service-password',
};

/**
 * Runs the cases of a text with the sample company.
 * @param agents the key `agents` of the configuration file, and the name of the agent that answers all cases
 */
export async function evaluateText(
  folder: string,
  text: string,
  env: Readonly<Record<string, string>> = {},
  { agents, agent }: { agents?: unknown; agent?: string | undefined } = {},
): Promise<EvalOutcome> {
  const { cases, problems } = readCases('cases.yaml', text);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const shop = JSON.parse(readFileSync(join(folder, 'agentd.yaml'), 'utf8'));
  const configFile = agents === undefined ? join(folder, 'agentd.yaml') : join(folder, 'agents.yaml');
  if (agents !== undefined) writeFileSync(configFile, JSON.stringify({ ...shop, agents }));
  const place = { env: { ...baseEnv(folder), ...SHOP_ENV, ...env }, cwd: folder, configFile };
  const plugins = (await pluginsAt(place)).plugins.map(({ plugin }) => plugin);
  const configuration = await configure(place);
  const named = configuration.agents.find(({ name }) => name === agent) ?? null;
  const options = { agent: named, concurrency: 4, log: collectLog().log, ended() {} };
  return evaluate(cases, configuration, plugins, options);
}
