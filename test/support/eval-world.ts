import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SAMPLE_DOCUMENT, SAMPLE_TOOLS } from '../../plugins/sample/api.ts';
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

/** Runs the cases of a text with the sample company. */
export async function evaluateText(
  folder: string,
  text: string,
  env: Readonly<Record<string, string>> = {},
): Promise<EvalOutcome> {
  const { cases, problems } = readCases('cases.yaml', text);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const place = {
    env: { ...baseEnv(folder), ...SHOP_ENV, ...env },
    cwd: folder,
    configFile: join(folder, 'agentd.yaml'),
  };
  const plugins = (await pluginsAt(place)).plugins.map(({ plugin }) => plugin);
  const options = { concurrency: 4, log: collectLog().log, ended() {} };
  return evaluate(cases, await configure(place), plugins, options);
}
