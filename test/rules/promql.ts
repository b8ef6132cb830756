/** A metric in an expression. */
export interface NamedMetric {
  name: string;
  /** The labels by which the expression selects series, with the operator and the value. */
  matchers: { label: string; operator: string; value: string }[];
}

const SELECTOR = /\b((?:agentd|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

/** The metrics of the daemon in an expression of PromQL, or in a query for the values of a label. */
export function metricsIn(expression: string): NamedMetric[] {
  return [...expression.matchAll(SELECTOR)].map(([, name = '', matchers = '']) => ({
    name,
    matchers: [...matchers.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }));
}

/** The labels by which an expression groups or joins. */
export function groupingsIn(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels.split(',').flatMap((label) => label.trim() || []),
  );
}
