import type { AgentTool } from '../../src/agent/index.ts';
import { NO_MARKS } from '../../src/daemon/identity/identity.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import { systemClock } from '../../src/daemon/time/clock.ts';
import { bindTools } from '../../src/daemon/tools/bind-tools.ts';
import { builtInSource, describeSource } from '../../src/daemon/tools/describe-source.ts';
import type { ToolRun } from '../../src/daemon/tools/perform-call.ts';
import type { OpenApiEntry } from '../../src/daemon/tools/source-entry.ts';
import type { Tool, ToolSourceInfo } from '../../src/daemon/tools/tool.ts';
import { createToolAccess, type ToolAccess } from '../../src/daemon/tools/tool-access.ts';
import { NO_OBSERVER, type Observer } from '../../src/daemon/trace/observer.ts';
import { Trace } from '../../src/daemon/trace/trace.ts';
import { endsWith } from './cancellation.ts';
import { collectLog } from './log-lines.ts';

/** A tool with the effect `read`, from a source without an address. It returns `{ n: 1 }`. */
export function toolOf(rest: Partial<Tool> = {}): Tool {
  return {
    name: 'look',
    title: null,
    description: 'Looks.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    source: builtInSource(undefined),
    effect: 'read',
    credentials: 'none',
    confirm: 'never',
    summary: null,
    public: [],
    bind: {},
    hide: [],
    idempotent: false,
    send: async () => ({ outcome: 'answered', status: 200, result: { n: 1 } }),
    ...rest,
  };
}

/** The entry of an OpenAPI source, without operations. */
export function openApiEntry(rest: Partial<OpenApiEntry> = {}): OpenApiEntry {
  return {
    kind: 'openapi',
    location: 'tools[0] (agentd.yaml, line 1)',
    name: 'shop',
    path: '/nowhere/shop.yaml',
    base_url: 'https://api.example.com',
    headers: {},
    operations: {},
    locations: { document: { setting: 'tools[0].openapi', source: 'agentd.yaml, line 1' }, operations: {} },
    ...rest,
  };
}

/** The source that `openApiEntry` describes. */
export function sourceOf(rest: Partial<OpenApiEntry>, api_base_url?: string): ToolSourceInfo {
  return describeSource(openApiEntry(rest), api_base_url);
}

/** The clients with which tools call the API at this address. */
export function accessTo(
  api_base_url: string | undefined,
  log = collectLog().log,
  observer: Pick<Observer, 'downstreamEnded'> = NO_OBSERVER,
): ToolAccess {
  return createToolAccess(
    {
      API_BASE_URL: api_base_url,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: new Secret('service-password'),
      API_TIMEOUT_SECONDS: 60,
      JWT_VERIFY_EXP: true,
      JWT_CLOCK_SKEW_SECONDS: 0,
    },
    { clock: systemClock, log, seal: createSeal(undefined), marks: NO_MARKS, observer },
  );
}

export interface BoundTool {
  bound: AgentTool;
  statuses: string[];
  trace: Trace;
  logged: ReturnType<typeof collectLog>;
  /** The trace lines of the tool itself: verdict and reason. */
  lines(): unknown[];
}

/** The members of a run that a test changes. */
export type RunOptions = Partial<Omit<ToolRun, 'trace' | 'limit'>> & { trace?: Trace; signal?: AbortSignal };

/** A run that calls tools. It has no journal, no API, and no person to ask. */
export function aToolRun({ signal, ...rest }: RunOptions = {}): ToolRun & { trace: Trace } {
  return {
    context: null,
    progress: () => undefined,
    audience: { memory_of: null, shared: false },
    access: accessTo(undefined),
    journal: null,
    confirmation: null,
    showPage: null,
    clock: systemClock,
    trace: new Trace(systemClock),
    limit: endsWith(signal),
    log: collectLog().log,
    ...rest,
  };
}

/** Binds the tool as the daemon does for one message. */
export function bindOne(tool: Tool, rest: RunOptions = {}): BoundTool {
  const statuses: string[] = [];
  const logged = collectLog();
  const api = tool.source.target?.is_api ? tool.source.target.base_url : undefined;
  const run = aToolRun({
    progress: ({ status }) => void statuses.push(status),
    access: accessTo(api, logged.log),
    log: logged.log,
    ...rest,
  });
  const [bound] = bindTools([tool], run);
  const { trace } = run;
  const lines = () =>
    trace.lines.filter(({ step }) => step === 'tool').map(({ verdict, reason }) => [verdict, reason]);
  return { bound: bound as AgentTool, statuses, trace, logged, lines };
}
