import { parse } from 'yaml';
import { Metrics, serviceMetrics } from '../../../src/operation/telemetry/metrics';
import { read, type Document } from './files';

const rules: Document[] = parse(read('deploy/prometheus/alerts.yaml')).groups.flatMap(
  (group: Document) => group.rules,
);
interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}
const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as { panels: Panel[] };
const runbook = read('docs/how-to/monitor.md');

const job: string = parse(read('deploy/prometheus/scrape.yaml')).scrape_configs[0].job_name;

/** All expressions, each with its location. */
const expressions: [string, string][] = [
  ...rules.map(({ alert, expr }) => [alert, expr] as [string, string]),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [title, expr] as [string, string]),
  ),
];

/** Metrics of the service and of prom-client. */
async function knownMetrics(): Promise<Set<string>> {
  const { text } = await new Metrics().text();
  return new Set([
    ...Object.keys(serviceMetrics),
    ...Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name!),
  ]);
}

/** The selectors of an expression: the name of a metric, and its matchers in braces. */
const selectorsOf = (expression: string) =>
  Array.from(expression.matchAll(/\b([a-z][a-z0-9_]*)\{([^{}]*)\}/g), ([, name, matchers]) => ({
    name: name!,
    matchers: matchers!,
  }));

/** Returns the metric of a series; series of a histogram have suffixes. */
const metricOf = (series: string) => series.replace(/_(bucket|sum|count)$/, '');

describe('alerts and dashboard', () => {
  it.each(expressions)('name metrics of the service, each with the scrape job: %s', async (_, expression) => {
    const known = await knownMetrics();
    const selectors = selectorsOf(expression);
    const names = Array.from(
      expression.matchAll(/\b(?:catalog|http|process|nodejs)_[a-z0-9_]+/g),
      ([name]) => name,
    );

    expect(selectors.length).toBeGreaterThan(0);
    // Without braces, there are no matchers.
    expect(names.filter((name) => !selectors.some((selector) => selector.name === name))).toEqual([]);
    for (const { name, matchers } of selectors) {
      expect(matchers).toMatch(new RegExp(`^job="${job}"`));
      if (name !== 'up') expect([name, known.has(metricOf(name)) || known.has(name)]).toEqual([name, true]);
    }
  });

  it.each(expressions)('name labels of their metrics: %s', (_, expression) => {
    for (const { name, matchers } of selectorsOf(expression)) {
      const metric = new Map<string, { labels: object }>(Object.entries(serviceMetrics)).get(metricOf(name));
      if (!metric) continue;
      const labels = Array.from(matchers.matchAll(/([a-z]+)(?:=|!)/g), ([, label]) => label!);
      expect(labels.filter((label) => label !== 'job' && !(label in metric.labels))).toEqual([]);
    }
  });

  it('use every metric of the service', () => {
    const used = new Set(
      expressions.flatMap(([, expression]) => selectorsOf(expression)).map(({ name }) => name),
    );
    const unused = Object.keys(serviceMetrics).filter(
      (name) => !used.has(name) && !['_bucket', '_count', '_sum'].some((ending) => used.has(name + ending)),
    );

    expect(unused).toEqual([]);
  });
});

describe('each alert', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s has a severity, a summary and a paragraph of the runbook',
    (alert, { labels, annotations }) => {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.runbook).toBe(`docs/how-to/monitor.md#${alert.toLowerCase()}`);
      expect(runbook).toContain(`\n## ${alert}\n`);
    },
  );

  it('is raised in the tests of promtool', () => {
    const tests: Document[] = parse(read('deploy/prometheus/alerts.test.yaml')).tests;
    const raised = tests
      .flatMap(({ alert_rule_test: looks }) => looks as Document[])
      .filter(({ exp_alerts: alerts }) => alerts)
      .map(({ alertname }) => alertname as string);

    expect(new Set(raised)).toEqual(new Set(rules.map(({ alert }) => alert as string)));
  });

  it('has a unique name, and each paragraph has an alert', () => {
    const paragraphs = Array.from(runbook.matchAll(/^## (\w+)$/gm), ([, heading]) => heading);

    expect(paragraphs).toEqual(rules.map(({ alert }) => alert));
    expect(new Set(paragraphs).size).toBe(paragraphs.length);
  });
});

describe('the dashboard', () => {
  it('has panels with unique ids that do not overlap', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );

    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos }) => gridPos.x + gridPos.w))).toBe(24);
  });
});
