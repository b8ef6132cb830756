type Method = (...args: never[]) => unknown;

/** A function of a module that is loaded when the function is called, so that a command loads only what it uses. */
export function lazy<Module, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
): Module[Name] extends (...args: infer Args) => infer Result
  ? (...args: Args) => Promise<Awaited<Result>>
  : never {
  const call = async (...args: never[]) => ((await load())[name] as Method)(...args);
  return call as ReturnType<typeof lazy<Module, Name>>;
}
