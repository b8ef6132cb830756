/** The token of a request, and how it is replaced. */
interface RenewableToken<Token> {
  /** The same person's token each time; null if there is none any more. */
  obtain(): Promise<Token | null>;
  /** Called after a 401. @returns whether `obtain` now gives a new token */
  renew(refused: Token): boolean;
}

/**
 * Makes a request. After a 401 to a token that can be renewed, makes it once more with a new token, whatever the answer
 * is then.
 * @returns null if there is no token any more: as if the system had refused it
 */
export async function sendRenewing<Token, Answer extends { status: number; body?: unknown }>(
  { obtain, renew }: RenewableToken<Token>,
  send: (token: Token) => Promise<Answer>,
): Promise<{ token: Token; answer: Answer } | null> {
  const token = await obtain();
  if (token === null) return null;
  const answer = await send(token);
  if (answer.status !== 401 || !renew(token)) return { token, answer };
  if (answer.body instanceof ReadableStream) await answer.body.cancel();
  const renewed = await obtain();
  return renewed === null ? null : { token: renewed, answer: await send(renewed) };
}
