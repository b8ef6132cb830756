/** The time of the processor that a piece of synchronous work takes, ms. It does not depend on what else the machine does. */
export function cpuTime(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
