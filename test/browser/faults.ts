import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { poorContrasts } from './contrast.ts';

/**
 * Lists the problems that axe finds, and text with too little contrast, because axe cannot measure the contrast of
 * mixed colors.
 * @param scope selector of the element that is examined
 */
export async function faults(page: Page, scope = 'agentd-webchat'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async (within) => {
    const found = await (window as unknown as { axe: typeof axe }).axe.run(within, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      resultTypes: ['violations'],
    });
    return found.violations;
  }, scope);
  const broken = violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  );
  // Only the page may have a banner. The chat is just a dialog in the page.
  if ((await page.getByRole('banner').count()) > 0) broken.push('the widget has a banner');
  return [...broken, ...(await poorContrasts(page))];
}
