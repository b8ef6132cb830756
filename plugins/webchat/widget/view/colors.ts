/** Red, green and blue, 0 to 1, in sRGB. */
export type Color = readonly [red: number, green: number, blue: number];

/** The colors that a site may set. An absent or unreadable color is null. */
export type SiteColors = Readonly<Record<'accent' | 'on-accent' | 'surface' | 'text' | 'link', Color | null>>;

/** The colors of the widget, by the name of their custom property. */
export type Palette = Readonly<Record<(typeof NAMES)[number], Color>>;

const NAMES = [
  'accent',
  'on-accent',
  'edge',
  'surface',
  'text',
  'sunken',
  'line',
  'field',
  'soft',
  'link',
  'glow',
  'alarm',
  'alarm-surface',
  'good',
] as const;

/** Minimum contrasts of WCAG 2.2, with a small reserve for rounding: of text, and of pictures and borders. */
export const TEXT = 4.55;
export const SHAPE = 3.05;

const WHITE: Color = [1, 1, 1];
const BLACK: Color = [0, 0, 0];
const INK: Color = [0.06, 0.07, 0.1];

const LIGHT = { accent: '3b4fd8', surface: 'ffffff', text: '1b1d28', alarm: 'a3271f', good: '1c7a45' };
const DARK = { accent: '8f9dff', surface: '191b24', text: 'eceef6', alarm: 'ffb0a6', good: '6fd39a' };

/**
 * Derives all colors of the widget from those of the site. Every pair that is shown together has enough contrast. A
 * color that does not fit is moved until it does. A surface or a text of the other scheme is ignored: a site that sets
 * colors for light pages only gets the widget's own colors in the dark.
 */
export function paletteFor(site: SiteColors, dark: boolean): Palette {
  const own = Object.fromEntries(
    Object.entries(dark ? DARK : LIGHT).map(([name, digits]) => [name, parseColor(digits)]),
  ) as Record<keyof typeof LIGHT, Color>;
  // The surface must be clearly light or clearly dark: in between, no shade of the text would be readable.
  const fits =
    site.surface !== null && (dark ? luminance(site.surface) < 0.06 : luminance(site.surface) > 0.7);
  const surface = fits && site.surface ? site.surface : own.surface;
  const text =
    site.text && contrast(site.text, surface) >= 7
      ? site.text
      : contrast(own.text, surface) >= 7
        ? own.text
        : dark
          ? WHITE
          : INK;
  const shade = (share: number) => mix(text, surface, share);
  const sunken = shade(0.06);
  const line = shade(0.15);
  const grounds = [surface, sunken];
  const shown = visible(site.accent ?? own.accent, surface, text, dark);
  const [accent, on_accent] = fill(shown, site['on-accent']);
  const link = towards(site.link ?? accent, text, [...grounds, line], TEXT);
  const alarm_surface = mix(own.alarm, surface, 0.08);
  return {
    accent,
    'on-accent': on_accent,
    edge: towards(accent, text, [surface], SHAPE),
    surface,
    text,
    sunken,
    line,
    field: towards(shade(0.45), text, grounds, SHAPE),
    soft: towards(shade(0.62), text, [...grounds, line], TEXT),
    link,
    glow: mix(link, surface, 0.25),
    alarm: towards(own.alarm, text, [...grounds, alarm_surface], TEXT),
    'alarm-surface': alarm_surface,
    good: towards(own.good, text, grounds, TEXT),
  };
}

/**
 * The color of a brand as it fills buttons. In the light it stays what it is, and an edge stands out if it is pale. In the
 * dark it becomes brighter, but not paler. Black, white and grays have no hue to keep, and become the color of the text.
 */
function visible(given: Color, surface: Color, text: Color, dark: boolean): Color {
  const [most, least] = [Math.max(...given), Math.min(...given)];
  if (most - least < 0.12) return contrast(given, surface) < SHAPE ? text : given;
  return dark ? towards(given, mix(BLACK, given, 1 - 1 / most), [surface], SHAPE) : given;
}

/** The color of a button, darkened until a text is readable on it, and the color of that text. */
function fill(color: Color, wanted: Color | null): readonly [fill: Color, on: Color] {
  const on = [wanted, WHITE, INK].find((one) => one !== null && contrast(one, color) >= TEXT);
  return on ? [color, on] : fill(mix(BLACK, color, 0.04), wanted);
}

export function css([red, green, blue]: Color): string {
  return `rgb(${[red, green, blue].map((part) => Math.round(part * 255)).join(' ')})`;
}

/** Reads a computed color: `rgb(…)` or `color(srgb …)`. Null if it is transparent or in another notation. */
export function readColor(computed: string): Color | null {
  const [, form, values = ''] = /^(rgba?|color\(srgb)\s*\(?(.*)\)$/.exec(computed) ?? [];
  if (form === undefined) return null;
  const [red = 0, green = 0, blue = 0, alpha = 1] = values
    .split(/[\s,/]+/)
    .filter(Boolean)
    .map(Number);
  const color = [red, green, blue].map((part) =>
    Math.min(1, Math.max(0, form.startsWith('rgb') ? part / 255 : part)),
  );
  return alpha < 0.5 || color.some(Number.isNaN) ? null : (color as unknown as Color);
}

/** The contrast of two colors, as WCAG 2.2 defines it. */
export function contrast(one: Color, other: Color): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

export function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Moves a color toward another one, in small steps, until it has this contrast on all grounds. */
function towards(color: Color, end: Color, grounds: readonly Color[], least: number): Color {
  for (let share = 0; share < 1; share += 0.04) {
    const moved = mix(end, color, share);
    if (grounds.every((ground) => contrast(moved, ground) >= least)) return moved;
  }
  return end;
}

function mix(one: Color, other: Color, share: number): Color {
  const part = (at: 0 | 1 | 2) => one[at] * share + other[at] * (1 - share);
  return [part(0), part(1), part(2)];
}

function parseColor(digits: string): Color {
  const part = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16) / 255;
  return [part(0), part(2), part(4)];
}
