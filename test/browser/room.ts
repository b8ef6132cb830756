import type { Locator, Page } from 'playwright-core';

/** Returns the start of the HTML of each page element that `element` covers at any scroll position. */
export async function coveredBy(page: Page, element: Locator): Promise<string[]> {
  const box = await element.boundingBox();
  if (box === null) throw new Error('the element is not shown');
  return page.evaluate(({ x, y, width, height }) => {
    const covered = new Set<string>();
    const parts = [0.02, 0.25, 0.5, 0.75, 0.98];
    const end = document.documentElement.scrollHeight - innerHeight;
    for (let at = 0; at <= 10; at++) {
      scrollTo(0, (end * at) / 10);
      for (const [across, down] of parts.flatMap((a) => parts.map((b) => [a, b] as const))) {
        const found = document
          .elementsFromPoint(x + width * across, y + height * down)
          .find(({ localName }) => localName !== 'agentd-webchat');
        if (found?.matches('main *, header, header *')) covered.add(found.outerHTML.slice(0, 80));
      }
    }
    return [...covered];
  }, box);
}

/**
 * Measures what does not fit: how many pixels the page is wider than the window and a table is wider than its frame,
 * and the largest number of lines in a table cell.
 */
export function tightness(page: Page): Promise<{ page: number; table: number; lines: number }> {
  return page.evaluate(() => {
    const { documentElement } = document;
    const frames = [...document.querySelectorAll('.frame')];
    const lines = [...document.querySelectorAll('tbody td')].map((cell) => {
      const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(cell);
      const [line = 1, ...paddings] = [lineHeight, paddingTop, paddingBottom].map(Number.parseFloat);
      return Math.round((cell.clientHeight - paddings.reduce((sum, one) => sum + one, 0)) / line);
    });
    return {
      page: documentElement.scrollWidth - innerWidth,
      table: Math.max(...frames.map((frame) => frame.scrollWidth - frame.clientWidth)),
      lines: Math.max(...lines),
    };
  });
}
