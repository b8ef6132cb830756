import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump, load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command.ts';
import { METRICS, type MetricRecord } from '../../src/daemon/metrics/metric-list.ts';
import { Metrics } from '../../src/daemon/metrics/metrics.ts';
import { ALERT_TESTS, type AlertTest } from '../fixtures/alerts.ts';
import { groupingsIn, metricsIn } from './promql.ts';
import { ROOT, read } from './source-files.ts';

// Tests of the dashboard and the alert rules (agentd-metrics(7), "Dashboard and alerts").

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

interface FieldConfig {
  defaults: { unit?: string };
  overrides: { matcher: { id: string; options: string }; properties: { id: string; value: unknown }[] }[];
}

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { h: number; w: number; x: number; y: number };
  fieldConfig?: FieldConfig;
  options?: { legend?: { showLegend?: boolean } };
  targets?: { expr: string; legendFormat: string; refId: string }[];
}

interface Dashboard {
  uid: string;
  panels: Panel[];
  annotations: { list: { name: string; expr: string; useValueForTime?: boolean }[] };
  templating: { list: { name: string; type: string; definition?: string; allValue?: string }[] };
}

const { groups } = load(read('config/alerts.yaml')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('config/grafana-dashboard.json')) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

const expressions = [
  ...rules.map(({ alert, expr }) => ({ place: `alerts.yaml: ${alert}`, expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ place: `dashboard: ${title}`, expr })),
  ),
  ...dashboard.annotations.list.map(({ expr }) => ({ place: 'dashboard: annotations', expr })),
  ...dashboard.templating.list.flatMap(({ name, definition }) =>
    definition === undefined ? [] : [{ place: `dashboard: variable ${name}`, expr: definition }],
  ),
];

/** The units in use from the list of Grafana 10. Grafana shows the name of an unknown unit after the number. */
const UNITS = ['short', 'percentunit', 's', 'bytes', 'ops', 'reqps', 'dateTimeFromNow'];

/** Labels that Prometheus adds, and the label of the buckets of a histogram. */
const OTHERS = ['job', 'instance', 'le'];
const RECORDS = new Map<string, MetricRecord>(METRICS.map((record) => [record.name, record]));

/** The names under which the daemon exposes its metrics. */
async function exposed(): Promise<Set<string>> {
  const text = await new Metrics({ version: '1.2.3', commit: null }).text();
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name],
    ),
  );
}

/** The record of a metric, or of the histogram to which the series with this name belongs. */
function recordOf(name: string): MetricRecord | undefined {
  return RECORDS.get(name) ?? RECORDS.get(name.replace(/_(bucket|sum|count)$/, ''));
}

describe('dashboard and alert rules', () => {
  it('name only metrics that exist, and the series of a histogram by their suffixes', async () => {
    const known = await exposed();
    const files = ['config/prometheus-adapter.yaml', 'man/agentd-deploy.7.md'];
    const all = [...expressions, ...files.map((file) => ({ place: file, expr: read(file) }))];
    const unknown = all.flatMap(({ place, expr }) =>
      metricsIn(expr)
        .filter(({ name }) => !known.has(name))
        .map(({ name }) => `${place}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it('name only labels that these metrics have', () => {
    const unknown = expressions.flatMap(({ place, expr }) => {
      const metrics = metricsIn(expr);
      const ofAll = metrics.flatMap(({ name }) => recordOf(name)?.labels ?? []);
      return [
        ...metrics.flatMap(({ name, matchers }) =>
          matchers
            .filter(({ label }) => ![...(recordOf(name)?.labels ?? []), ...OTHERS].includes(label))
            .map(({ label }) => `${place}: ${name}{${label}}`),
        ),
        ...groupingsIn(expr)
          .filter((label) => ![...ofAll, ...OTHERS].includes(label))
          .map((label) => `${place}: by ${label}`),
      ];
    });
    expect(unknown).toEqual([]);
  });

  it('compare labels only with values that the table of metrics names', () => {
    const unknown = expressions.flatMap(({ place, expr }) =>
      metricsIn(expr).flatMap(({ name, matchers }) =>
        matchers
          .flatMap(({ value }) => value.split('|'))
          .filter((value) => /^[a-z_]+$/.test(value) && !recordOf(name)?.sentence.includes(`\`${value}\``))
          .map((value) => `${place}: ${name} ${value}`),
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('use the rate of each counter and histogram, never its value, and no rate of a gauge', () => {
    const wrong = expressions.flatMap(({ place, expr }) =>
      metricsIn(expr).flatMap(({ name }) => {
        // A query for the values of a label needs no rate.
        if (expr.startsWith('label_values(')) return [];
        const isRate = new RegExp(`\\b(rate|increase)\\(${name}(\\{[^}]*\\})?\\[`).test(expr);
        const kind = recordOf(name)?.kind;
        return kind === undefined || isRate === (kind !== 'gauge') ? [] : [`${place}: ${name}`];
      }),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('shows every metric', () => {
    const shown = new Set(
      panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => metricsIn(expr).map(({ name }) => recordOf(name)?.name)),
      ),
    );
    expect(METRICS.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([]);
  });

  it('explains each panel, and gives it a unit', () => {
    for (const { title, description, fieldConfig, type, targets = [] } of panels) {
      expect(description, title).toMatch(/[.]$/);
      if (type !== 'table') expect(fieldConfig?.defaults.unit, title).toBeTruthy();
      expect(targets.length, title).toBeGreaterThan(0);
    }
  });

  it.each([
    ['Messages by outcome', 'answered', 'failed'],
    ['Requests by status', '200', '503'],
    ['Messages in the inbox', 'running', 'failed'],
    ['Deliveries to platforms', 'teamchat sent', 'teamchat failed'],
    ['Requests to APIs by status', 'api 200', 'api unreachable'],
    ['Model calls', 'llama3.3 ok', 'llama3.3 model_overloaded'],
  ])('shows in the panel %j the series %j in green, and %j in red', (title, good, bad) => {
    const overrides = panels.find((panel) => panel.title === title)?.fieldConfig?.overrides ?? [];
    const colorsOf = (name: string) =>
      overrides
        .filter(({ matcher: { id, options } }) =>
          id === 'byName' ? options === name : new RegExp(options.slice(1, -1)).test(name),
        )
        .map(({ properties }) => properties.find(({ id }) => id === 'color')?.value);
    expect(colorsOf(good)).toMatchObject([{ fixedColor: 'green' }]);
    expect(colorsOf(bad)).toMatchObject([{ fixedColor: 'red' }]);
  });

  it('uses units that Grafana knows, or a text after the number', () => {
    const units = panels.flatMap(({ fieldConfig }) => [
      fieldConfig?.defaults.unit ?? [],
      ...(fieldConfig?.overrides ?? []).flatMap(({ properties }) =>
        properties.flatMap(({ id, value }) => (id === 'unit' ? String(value) : [])),
      ),
    ]);
    expect(units.flat().filter((unit) => !UNITS.includes(unit) && !unit.startsWith('suffix:'))).toEqual([]);
  });

  // A panel with a single number shows the last value in the selected time. Without a current value, that value could
  // be hours old.
  it('has a current value in each panel with a single number', () => {
    for (const { title, targets = [] } of panels.filter(({ type }) => type === 'stat'))
      for (const { expr } of targets) expect(expr, title).toMatch(/ or vector\(0\)$/);
  });

  it('chooses the largest series once for a whole curve, and not at each of its points', () => {
    const chosen = expressions.filter(({ expr }) => /topk|bottomk/.test(expr));
    expect(chosen.length).toBeGreaterThan(0);
    for (const { place, expr } of chosen) expect(expr, place).toMatch(/ and topk\(.*@ end\(\)/);
  });

  it('names the series of each curve by labels that the query keeps', () => {
    for (const { title, type, options, targets = [] } of panels) {
      if (type !== 'timeseries') continue;
      expect(options?.legend?.showLegend, title).toBe(true);
      for (const { expr, legendFormat } of targets) {
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
        // The outermost sum decides. A series that is not summed is named by its process.
        const [, by = 'instance'] = /\b(?:sum|max|min|count) by \(([^)]*)\)/.exec(expr) ?? [];
        const kept = by.split(', ').filter((label) => label !== 'le');
        expect(kept.sort(), title).toEqual(named.sort());
      }
    }
  });

  it('has panels that do not overlap', () => {
    const taken = new Set<string>();
    for (const { id, title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), `${title} overlaps another panel`).toBe(false);
          taken.add(`${x} ${y}`);
        }
      expect(taken.has(`id ${id}`), `the id of ${title}`).toBe(false);
      taken.add(`id ${id}`);
    }
  });

  // `changes()` could miss a start, because the two scrapes around it may be in different windows.
  it('marks each start of a process at the time of the start', () => {
    const starts = dashboard.annotations.list.find(({ name }) => name === 'Starts');
    expect(starts).toMatchObject({ useValueForTime: true });
    expect(starts?.expr).toMatch(/^1000 \* process_start_time_seconds\{/);
  });

  it('counts a process as down only if it belongs to a job of agentd', () => {
    const all = expressions.filter(({ expr }) => /\bup\{/.test(expr) && expr.includes('$job'));
    expect(all.length).toBeGreaterThan(0);
    const job = dashboard.templating.list.find(({ name }) => name === 'job');
    expect(job).not.toHaveProperty('allValue');
  });

  it('uses only variables that it defines', () => {
    const own = dashboard.templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-zA-Z_]+)/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !own.includes(name) && !name.startsWith('__'))).toEqual([]);
  });
});

describe('each alert rule', () => {
  it('has a unique name and a severity, and says what to do', () => {
    expect(rules.map(({ alert }) => alert)).toEqual([...new Set(rules.map(({ alert }) => alert))]);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Agentd[A-Z]\w+$/);
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toBeTruthy();
      expect(annotations.description, alert).toMatch(/\.$/);
    }
  });

  it('names commands that exist', () => {
    const known = COMMANDS.map(({ name }) => `agentd ${name}`);
    const named = rules.flatMap(({ annotations }) =>
      [...(annotations.description ?? '').matchAll(/`(agentd [^`]*)`/g)].map(([, command = '']) => command),
    );
    const isKnown = (command: string) =>
      known.some((name) => command === name || command.startsWith(`${name} `));
    expect(named.filter((command) => !isKnown(command))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  it('is tested', () => {
    expect(ALERT_TESTS.map(({ alert }) => alert).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;
if (!promtool && process.env.CI !== 'true') {
  console.warn('promtool is not installed: the alert rules are NOT run (apt-get install prometheus)');
}

// If promtool is missing, these tests are skipped or, with CI=true, fail.
describe.skipIf(!promtool && process.env.CI !== 'true')('promtool', () => {
  const run = (...args: string[]) => {
    // It ends soon, and without garbage collection it needs half of the CPU time.
    const env = { ...process.env, GOGC: 'off' };
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', env });
    return { status, output: `${stdout}${stderr}` };
  };

  it('accepts the alert rules', () => {
    expect(run('check', 'rules', join(ROOT, 'config/alerts.yaml'))).toMatchObject({ status: 0 });
  });

  it('fires each alert when it should, and no alert on a quiet day or at a busy start', () => {
    const folder = mkdtempSync(join(tmpdir(), 'agentd-alerts-'));
    const write = (name: string, content: object) => {
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, dump(content));
      return file;
    };
    const test = (name: string, rule_files: string[], evaluation_interval: string, tests: object[]) =>
      write(`test-${name}`, { rule_files, evaluation_interval, tests });
    // A test of one alert evaluates only its rule, and a day in steps of a minute would take too long.
    const files = ALERT_TESTS.map((one, index) => {
      const rule = rules.filter(({ alert }) => alert === one.alert);
      const file = write(`rule-${index}`, { groups: [{ name: 'one', rules: rule }] });
      return test(String(index), [file], Number.parseInt(one.at, 10) > 120 ? '15m' : '1m', [firing(one)]);
    });
    const all = test('all', [join(ROOT, 'config/alerts.yaml')], '1m', [QUIET, BUSY_START]);
    const { status, output } = run('test', 'rules', ...files, all);
    rmSync(folder, { recursive: true });
    expect([status, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});

/** A test for promtool that compares only labels: other tests check the annotations. */
function firing({ alert, series, at, fires }: AlertTest): object {
  const labels = labelsOf({ __name__: 'ALERTS', alertname: alert, alertstate: 'firing', ...fires });
  return {
    name: alert,
    interval: '1m',
    input_series: series,
    promql_expr_test: [
      {
        expr: `ALERTS{alertname="${alert}", alertstate="firing"}`,
        eval_time: at,
        exp_samples: [{ labels, value: 1 }],
      },
    ],
  };
}

function labelsOf({ __name__ = '', ...labels }: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return `${__name__}{${pairs.join(', ')}}`;
}

/** The metrics of a healthy service over an hour and a half. */
const QUIET_SERIES = [
  ['up{job="agentd", instance="a"}', '1+0x100'],
  ['process_start_time_seconds{job="agentd", instance="a"}', '1000+0x100'],
  ['agentd_build_info{version="1", node="24", job="agentd", instance="a"}', '1+0x100'],
  ['nodejs_eventloop_lag_p99_seconds{job="agentd", instance="a"}', '0.012+0x100'],
  ['process_open_fds{job="agentd", instance="a"}', '100+0x100'],
  ['process_max_fds{job="agentd", instance="a"}', '65536+0x100'],
  ['agentd_messages_total{channel="webchat", outcome="answered"}', '0+600x100'],
  ['agentd_messages_total{channel="webchat", outcome="failed"}', '0+6x100'],
  ['agentd_messages_total{channel="webchat", outcome="blocked"}', '0+10x100'],
  ['agentd_http_requests_total{route="/webchat/message", method="POST", status="200"}', '0+600x100'],
  ['agentd_http_requests_total{route="/webchat/message", method="POST", status="502"}', '0+6x100'],
  ['agentd_http_requests_total{route="/webchat/message", method="POST", status="429"}', '0+10x100'],
  ['agentd_turn_duration_seconds_bucket{channel="webchat", le="10"}', '0+600x100'],
  ['agentd_turn_duration_seconds_bucket{channel="webchat", le="+Inf"}', '0+600x100'],
  ['agentd_runs{state="waiting", instance="a"}', '0 3 0 0 0 2 0x100'],
  ['agentd_inbox_oldest_seconds{channel="teamchat"}', '0 4 9 0 2 200 0x100'],
  ['agentd_deliveries_total{channel="teamchat", outcome="sent"}', '0+100x100'],
  ['agentd_deliveries_total{channel="teamchat", outcome="retried"}', '0+5x100'],
  ['agentd_deliveries_total{channel="teamchat", outcome="failed"}', '3+0x100'],
  ['agentd_store_errors_total{instance="a"}', '2+0x100'],
  ['agentd_store_duration_seconds_bucket{operation="commitTurn", le="0.01"}', '0+600x100'],
  ['agentd_store_duration_seconds_bucket{operation="commitTurn", le="+Inf"}', '0+600x100'],
  ['agentd_model_requests_total{model="m", outcome="ok"}', '0+600x100'],
  ['agentd_model_requests_total{model="m", outcome="model_overloaded"}', '0+20x100'],
  ['agentd_model_tokens_total{model="m", direction="input"}', '0+200000x100'],
  ['agentd_tool_calls_total{tool="get_user", outcome="ok"}', '0+300x100'],
  ['agentd_tool_calls_total{tool="get_user", outcome="invalid_arguments"}', '0+60x100'],
  // Most visitors are not signed in, and a few have used up their tokens.
  ['agentd_tool_calls_total{tool="get_user", outcome="no_jwt_context"}', '0+900x100'],
  ['agentd_model_requests_total{model="m", outcome="budget_exhausted"}', '0+300x100'],
  ['agentd_downstream_requests_total{source="api", status="200"}', '0+300x100'],
  ['agentd_downstream_requests_total{source="api", status="401"}', '0+20x100'],
  ['agentd_downstream_requests_total{source="api", status="timeout"}', '0+5x100'],
  ['agentd_token_checks_total{outcome="valid"}', '0+300x100'],
  ['agentd_token_checks_total{outcome="Token Expired"}', '0+300x100'],
  ['agentd_token_checks_total{outcome="Invalid Signature"}', '0+10x100'],
  ['agentd_guard_blocks_total{channel="webchat", reason="rate_limit"}', '0+10x100'],
  ['agentd_rate_limited_total{route="/webchat/message"}', '0+10x100'],
].map(([series, values]) => ({ series, values }));

/** A process that has just started and gets many messages at once. */
const BUSY_START = {
  name: 'a busy start',
  interval: '1m',
  input_series: [{ series: 'agentd_runs{state="waiting", instance="b"}', values: '9 9 0x5' }],
  promql_expr_test: [{ expr: 'ALERTS{alertstate="firing"}', eval_time: '1m', exp_samples: [] }],
};

const QUIET = {
  name: 'a quiet day',
  interval: '1m',
  input_series: QUIET_SERIES,
  promql_expr_test: [{ expr: 'ALERTS', eval_time: '90m', exp_samples: [] }],
};
