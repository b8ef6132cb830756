import { css, luminance, paletteFor, readColor, type SiteColors } from './colors.ts';

export type Theme = 'light' | 'dark' | 'auto';

const CAN_CONVERT = CSS.supports('color', 'color(from red srgb r g b)');

/**
 * Keeps the colors of the widget right while the page or the device changes.
 * @returns a function that applies them. Call it when the widget is in the page, and when it is opened.
 */
export function keepColors(host: HTMLElement, sheet: CSSStyleSheet, theme: Theme): () => void {
  const device = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const dark = theme === 'auto' ? isPageDark(device.matches) : theme === 'dark';
    host.dataset.theme = dark ? 'dark' : 'light';
    const palette = paletteFor(siteColors(host), dark);
    const values = Object.entries(palette).map(([name, color]) => `--${name}:${css(color)}`);
    // The style sheet resets all properties of the host, also this one.
    sheet.replaceSync(`:host{${values.join(';')};color-scheme:${dark ? 'dark' : 'light'}!important}`);
  };
  device.addEventListener('change', apply);
  const changes = new MutationObserver(apply);
  for (const one of [document.documentElement, document.body])
    changes.observe(one, {
      attributes: true,
      attributeFilter: ['class', 'style', 'data-theme', 'data-color-scheme'],
    });
  return apply;
}

/**
 * Whether the page is dark: by its `color-scheme`. If the page names none, its background decides, because a page
 * without dark colors stays light on a dark device.
 */
function isPageDark(device: boolean): boolean {
  const { documentElement, body } = document;
  const words = getComputedStyle(documentElement).colorScheme.split(' ');
  const [light, dark] = [words.includes('light'), words.includes('dark')];
  if (light || dark) return dark && (!light || device);
  const grounds = [body, documentElement].map((one) => readColor(getComputedStyle(one).backgroundColor));
  const ground = grounds.find((one) => one !== null);
  return ground ? luminance(ground) < 0.18 : false;
}

/** The custom properties of the site as colors, in whatever notation the site wrote them. */
function siteColors(host: HTMLElement): SiteColors {
  const probe = document.createElement('span');
  const root = host.shadowRoot as ShadowRoot;
  root.append(probe);
  const own = getComputedStyle(host);
  const style = getComputedStyle(probe);
  const read = (name: string) => {
    const property = `--agentd-${name}`;
    if (own.getPropertyValue(property).trim() === '') return null;
    probe.style.color = CAN_CONVERT ? `color(from var(${property}) srgb r g b)` : `var(${property})`;
    return readColor(style.color);
  };
  const found: SiteColors = {
    accent: read('accent'),
    'on-accent': read('on-accent'),
    surface: read('surface'),
    text: read('text'),
    link: read('link'),
  };
  probe.remove();
  return found;
}
