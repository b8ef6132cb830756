import { extractReasoningMiddleware, wrapLanguageModel } from 'ai';
import type { Model } from './model.ts';

/** The tags in which models write their reasoning if their server does not separate it from the answer. */
const TAGS = ['think', 'thinking'];

/**
 * Separates the reasoning that a model writes into its text from its answer, so that it reaches neither people nor
 * summaries. It ends with its tag or, if the tag is missing, with the text: a lost answer is better than one that shows
 * the reasoning.
 */
export function hideReasoning(model: Model): Model {
  return wrapLanguageModel({
    model,
    middleware: TAGS.map((tagName) => extractReasoningMiddleware({ tagName })),
  });
}
