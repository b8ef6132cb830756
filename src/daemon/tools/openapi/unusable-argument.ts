/** A mistake in an argument that the model can correct. The message says what is wrong, and with which argument. */
export class UnusableArgument extends Error {}
