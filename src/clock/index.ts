/**
 * Time and randomness as services. Everything below `cli/` takes a {@link Clock} and a {@link Random} instead of using those
 * of the machine, so that the same code runs live, in a test that takes no time, and in a seeded simulation.
 */
export type { Clock, Timer } from './clock.ts'
export { systemClock } from './system-clock.ts'
export { type VirtualClock, virtualClock } from './virtual-clock.ts'
export { jitter, type Random, seededRandom, systemRandom } from './random.ts'
