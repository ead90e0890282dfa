/** Limits of an isolated operator. Beyond them the guest is killed, or the reconcile fails. */
import { type BackOffOptions, defaultBackOff } from '../../../operator/failure.ts'

export interface Limits {
  /** Of the heap; and as much again in buffers. @default 256 */
  readonly memoryMb: number
  /** Until it is loaded. @default 30_000 */
  readonly startMs: number
  /** Without a sign of life, as when its event loop is blocked. Never more than `reconcileMs`. @default 10_000 */
  readonly silentMs: number
  /** Of one reconcile, including its writes. @default 300_000 */
  readonly reconcileMs: number
  /** Size of one message. @default 16 MiB */
  readonly messageBytes: number
  /** Waves in one reconcile. The kit itself makes no more than forty. @default 64 */
  readonly waves: number
  /** Reads in one reconcile. @default 10_000 */
  readonly reads: number
  /** Size of all reads in one reconcile: the manager's thread serialises each list. @default 256 MiB */
  readonly readBytes: number
  /** Calls to the outside in one reconcile. @default 1000 */
  readonly calls: number
  /** Back-off of restarts. */
  readonly backOff: BackOffOptions
}

export const defaultGuestLimits: Limits = {
  memoryMb: 256,
  startMs: 30_000,
  silentMs: 10_000,
  reconcileMs: 300_000,
  messageBytes: 16 * 2 ** 20,
  waves: 64,
  reads: 10_000,
  readBytes: 256 * 2 ** 20,
  calls: 1000,
  backOff: defaultBackOff,
}
