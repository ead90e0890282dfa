/** A small process beside an application; see README.md. */
export type { ActionRecord, ActionRequest, ActionSpec, ActionState, EnvironmentSpec, FailureReason } from './action.ts'
export {
  type CallOptions,
  type ChangeOptions,
  sidecarClient,
  type SidecarClient,
  type SidecarClientOptions,
  type SidecarRequest,
  type SidecarResponse,
  type SidecarTransport,
} from './client.ts'
export { type ConfigOverrides, type SidecarListenAddress, loadConfig, type SidecarConfig } from './config.ts'
export type { Variables } from './environment.ts'
export type { CommandProbe, FileProbe, HttpProbe, ProbeSpec, TcpProbe } from './probe.ts'
export type { ServerLimits } from './server.ts'
export { type Sidecar, type SidecarOptions, startSidecar } from './sidecar.ts'
export type { SidecarState, StateRule } from './state.ts'
