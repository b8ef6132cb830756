/**
 * What the person is told once a message has failed for good. It is the second door of failure, for messages
 * whose request was answered long ago (the first is http/problem.ts). It does not say what failed: a group may
 * read it.
 */
export const FAILURE_NOTICE = 'Sorry, I could not answer your message. Please try again later.';
