import type { CaseResult } from '../../daemon/admin/eval.ts';

/** The results as JUnit XML, which build servers read: a suite for each file. */
export function casesAsJUnit(results: readonly CaseResult[]): string {
  const files = [...new Set(results.map(({ file }) => file))];
  const suites = files.map((file) => {
    const own = results.filter((result) => result.file === file);
    const failures = own.filter(({ passed }) => !passed).length;
    const head = `name="${escapeXml(file)}" tests="${own.length}" failures="${failures}" errors="0" time="${sumSeconds(own)}"`;
    return `  <testsuite ${head}>\n${own.map(caseAsXml).join('\n')}\n  </testsuite>`;
  });
  const failures = results.filter(({ passed }) => !passed).length;
  const head = `tests="${results.length}" failures="${failures}" errors="0" time="${sumSeconds(results)}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="agentd eval" ${head}>\n${suites.join('\n')}\n</testsuites>\n`;
}

function caseAsXml(result: CaseResult): string {
  const { name, file, passed, passed_runs, repeat, failures } = result;
  const head = `    <testcase name="${escapeXml(name)}" classname="${escapeXml(file)}" time="${sumSeconds([result])}"`;
  if (passed) return `${head}/>`;
  const lines = failures.map(
    ({ run, turn, what, detail }) => `run ${run}${turn === null ? '' : `, turn ${turn}`}, ${what}: ${detail}`,
  );
  const message = `${passed_runs} of ${repeat} runs passed`;
  return `${head}>\n      <failure message="${escapeXml(message)}">${escapeXml(lines.join('\n'))}</failure>\n    </testcase>`;
}

function sumSeconds(results: readonly CaseResult[]): string {
  return (results.reduce((sum, { took_ms }) => sum + took_ms, 0) / 1000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

/** XML allows no control characters and no half of a surrogate pair, not even as entities. */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"\n]/g, (character) => ENTITIES[character] ?? character);
}
