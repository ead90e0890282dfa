/** What an isolated operator may use. Beyond that it is ended, or its reconcile is. */
import { type BackOffOptions, defaultBackOff } from '../../operator/failure.ts'

export interface Limits {
  /** Of its heap; and as much again in buffers. @default 256 */
  readonly memoryMb: number
  /** To be loaded. @default 30_000 */
  readonly startMs: number
  /** Without a sign of life: an event loop that is blocked gives none. Never more than `reconcileMs`. @default 10_000 */
  readonly silentMs: number
  /** For one reconcile, the time that writes take included. @default 300_000 */
  readonly reconcileMs: number
  /** What it may say at once. @default 16 MiB */
  readonly messageBytes: number
  /** In one reconcile. The kit itself makes no more than forty. @default 64 */
  readonly waves: number
  /** In one reconcile. @default 10_000 */
  readonly reads: number
  /** What it is given to read in one reconcile: each list is put into words for it, in the manager's time. @default 256 MiB */
  readonly readBytes: number
  /** To the outside, in one reconcile. @default 1000 */
  readonly calls: number
  /** Before it is started again. */
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
