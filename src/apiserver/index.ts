/** A Kubernetes API server as a library; README.md beside this file tells when and how. */
export type { AccessOptions } from './access/access.ts'
export {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
  type DurableApiServer,
  type DurableApiServerOptions,
  openApiServer,
  type Workloads,
} from './api-server.ts'
export type { ExportOptions, Imported, ImportOptions } from './gather.ts'
export { type Listener, type ListenerOptions, startListener } from './listener.ts'
export { simulatedNodes, simulatedWorkloads, type SimulationOptions } from './simulated/simulation.ts'
export type { SimulatedNode } from './simulated/node-fleet.ts'
