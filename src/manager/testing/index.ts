/**
 * The public API for tests of operators: an environment with an embedded API server in virtual time, a control plane for
 * programs in other languages, a fake sidecar, and the clock and randomness that make a test repeatable.
 */
export { type Random, seededRandom } from '../../clock/random.ts'
export type { Clock } from '../../clock/clock.ts'
export { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
export {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
  type TestUser,
} from './control-plane.ts'
export { type FakeAction, type FakeSidecar, fakeSidecar, type FakeSidecarOptions } from './fake-sidecar.ts'
export {
  openTestEnvironment,
  type SentRequest,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from './test-environment.ts'
