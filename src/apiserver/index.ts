/** The embedded API server: the public API. README.md describes when and how to use it. */
export type { ServerAccessOptions } from './access/access.ts'
export {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
  type DurableApiServer,
  type DurableApiServerOptions,
  openApiServer,
  type Workloads,
} from './server/api-server.ts'
export type { ExportOptions, Imported, ImportOptions } from './must-gather/must-gather.ts'
export { type ServerListener, type ListenerOptions, startListener } from './http/listener.ts'
export { simulatedNodes, simulatedWorkloads, type SimulatedWorkloadsOptions } from './simulated/simulation.ts'
export type { SimulatedNode } from './simulated/node/node-fleet.ts'
