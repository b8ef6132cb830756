/**
 * Browsers that the tests can use; the first that is installed is used. The one without windows takes a third less CPU
 * time than the others.
 */
export const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
] as const;
