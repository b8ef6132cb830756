/**
 * Browsers for the tests, which use the first of them that is installed. The headless shell uses a third less CPU time
 * than the others.
 */
export const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
] as const;
