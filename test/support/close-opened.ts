import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { registerWith } from './close-at-end.ts';

const opened: (() => unknown)[] = [];

// Vitest runs this file again before each test file.
registerWith((close) => {
  const test = TestRunner.getCurrentTest();
  // It is not known which of several concurrent tests has opened something.
  if (test && !test.concurrent) onTestFinished(async () => void (await close()));
  else opened.push(close);
});

afterAll(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});
