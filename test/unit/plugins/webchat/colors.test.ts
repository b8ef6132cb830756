import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Color,
  contrast,
  type Palette,
  paletteFor,
  readColor,
  type SiteColors,
} from '../../../../plugins/webchat/widget/view/colors.ts';

const NONE: SiteColors = { accent: null, 'on-accent': null, surface: null, text: null, link: null };

/** What is shown on what, with the minimum contrast of WCAG 2.2. */
const PAIRS: readonly (readonly [keyof Palette, keyof Palette, number])[] = [
  ['text', 'surface', 4.5],
  ['text', 'sunken', 4.5],
  ['text', 'line', 4.5],
  ['soft', 'surface', 4.5],
  ['soft', 'sunken', 4.5],
  ['soft', 'line', 4.5],
  ['link', 'surface', 4.5],
  ['link', 'sunken', 4.5],
  ['link', 'line', 4.5],
  ['on-accent', 'accent', 4.5],
  ['alarm', 'surface', 4.5],
  ['alarm', 'sunken', 4.5],
  ['alarm', 'alarm-surface', 4.5],
  ['good', 'surface', 4.5],
  ['good', 'sunken', 4.5],
  ['edge', 'surface', 3],
  ['field', 'surface', 3],
  ['field', 'sunken', 3],
];

const part = fc.integer({ min: 0, max: 255 }).map((value) => value / 255);
const color: fc.Arbitrary<Color> = fc.tuple(part, part, part);
const maybe = fc.option(color, { nil: null, freq: 2 });

function expectReadable(site: SiteColors): void {
  for (const dark of [false, true]) {
    const palette = paletteFor(site, dark);
    for (const [shown, ground, least] of PAIRS)
      expect(
        contrast(palette[shown], palette[ground]),
        `${shown} on ${ground}, dark: ${dark}`,
      ).toBeGreaterThanOrEqual(least);
  }
}

test('every pair of colors is readable for any accent, light and dark', () => {
  fc.assert(
    fc.property(color, (accent) => expectReadable({ ...NONE, accent })),
    { numRuns: 500 },
  );
});

test('every pair of colors is readable, whatever colors the site sets', () => {
  fc.assert(
    fc.property(maybe, maybe, maybe, maybe, maybe, (accent, on, surface, text, link) =>
      expectReadable({ accent, 'on-accent': on, surface, text, link }),
    ),
    { numRuns: 500 },
  );
});

test('colors for a light page are not used in the dark, and the other way around', () => {
  const light: SiteColors = { ...NONE, surface: [1, 0.98, 0.95], text: [0.1, 0.1, 0.1] };
  expect(paletteFor(light, false)).toMatchObject({ surface: light.surface, text: light.text });
  expect(paletteFor(light, true)).toMatchObject(paletteFor(NONE, true));
  const dark: SiteColors = { ...NONE, surface: [0.05, 0.05, 0.1], text: [0.95, 0.9, 0.9] };
  expect(paletteFor(dark, true)).toMatchObject({ surface: dark.surface, text: dark.text });
  expect(paletteFor(dark, false)).toMatchObject(paletteFor(NONE, false));
});

test('the color of a brand is used as it is, also a pale one, whose edge then stands out', () => {
  const blue: Color = [0.1, 0.2, 0.6];
  expect(paletteFor({ ...NONE, accent: blue }, false)).toMatchObject({ accent: blue, edge: blue });
  const lime: Color = [0.78, 0.95, 0.21];
  const palette = paletteFor({ ...NONE, accent: lime }, false);
  expect(palette.accent).toEqual(lime);
  expect(palette.edge).not.toEqual(lime);
  expect(paletteFor({ ...NONE, accent: lime }, true)).toMatchObject({ accent: lime, edge: lime });
});

test('a deep accent becomes brighter in the dark, but keeps its hue', () => {
  const navy: Color = [0.04, 0.12, 0.27];
  const [red, green, blue] = paletteFor({ ...NONE, accent: navy }, true).accent;
  expect(blue).toBeGreaterThan(0.5);
  expect(red / blue).toBeCloseTo(navy[0] / navy[2]);
  expect(green / blue).toBeCloseTo(navy[1] / navy[2]);
});

test('a black accent becomes the color of the text in the dark, and a white one in the light', () => {
  for (const [accent, dark] of [
    [[0.05, 0.05, 0.06], true],
    [[1, 1, 1], false],
  ] as const) {
    const palette = paletteFor({ ...NONE, accent }, dark);
    expect(palette.accent).toEqual(palette.text);
  }
});

test('computed colors are read in both notations, and transparent ones are not', () => {
  expect(readColor('rgb(255, 0, 51)')).toEqual([1, 0, 0.2]);
  expect(readColor('color(srgb 0.5 1.2 0)')).toEqual([0.5, 1, 0]);
  expect(readColor('rgba(0, 0, 0, 0)')).toBeNull();
  expect(readColor('oklch(0.5 0.1 20)')).toBeNull();
});
