/**
 * Browsers that the tests can use; they use the first that is installed. The headless one takes a third less CPU time
 * than the others.
 */
export const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
] as const;
