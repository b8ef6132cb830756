import type { Page } from 'playwright-core';

/**
 * Lists everything in the widget whose contrast is below the minimum of WCAG 2.2: 4.5:1 for text, and 3:1 for large
 * text, for pictures and for the border of a field. Colors may be in any notation that the browser understands.
 */
export function poorContrasts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const root = document.querySelector('agentd-webchat')?.shadowRoot;
    if (!context || !root) throw new Error('there is nothing to measure');

    type Color = readonly [red: number, green: number, blue: number, alpha: number];
    const read = (css: string): Color => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = css;
      context.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(0, 0, 1, 1).data;
      return [red, green, blue, alpha / 255];
    };
    const parentOf = (element: Element): Element | null =>
      element.parentElement ?? ((element.getRootNode() as ShadowRoot).host as Element | undefined) ?? null;
    const groundOf = (element: Element | null): Color => {
      for (let at = element; at !== null; at = parentOf(at)) {
        const color = read(getComputedStyle(at).backgroundColor);
        if (color[3] > 0.99) return color;
      }
      return [255, 255, 255, 1];
    };
    const luminance = ([red, green, blue]: Color): number => {
      const [r = 0, g = 0, b = 0] = [red, green, blue].map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one: Color, other: Color): number => {
      const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
      return (light + 0.05) / (dark + 0.05);
    };
    const poor: string[] = [];
    const check = (what: string, color: string, ground: Color, least: number) => {
      const found = ratio(read(color), ground);
      if (found < least) poor.push(`${what}: ${found.toFixed(2)} of ${least}`);
    };

    for (const element of root.querySelectorAll('*')) {
      if (!element.checkVisibility() || element.closest('.heard')) continue;
      const style = getComputedStyle(element);
      const name = `${element.localName}.${element.getAttribute('class') ?? ''} ${element.textContent.slice(0, 20)}`;
      const says = [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim(),
      );
      const size = Number.parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (says) check(name, style.color, groundOf(element), large ? 3 : 4.5);
      if (element.matches('svg:not(.qr)')) check(name, style.stroke, groundOf(element), 3);
      if (element.localName === 'textarea')
        check('placeholder', getComputedStyle(element, '::placeholder').color, groundOf(element), 4.5);
      if (element.matches('.composer, .comment textarea'))
        check('border of the field', style.borderTopColor, groundOf(element), 3);
    }
    return poor;
  });
}
