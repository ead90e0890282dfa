/** The public surface: turns an operator into a program, and hosts other programs. */
export {
  contractCommands,
  type ContractCommand,
  isContractCommand,
  runContractCommand,
  type Streams,
} from './commands.ts'
export type { ControllerResult, ResultStatus } from './controller-results.ts'
export { inputResourcesOf, outputResourcesOf } from './declaration.ts'
export { type EgressProxy, type EgressRefusal, openEgressProxy } from './external/egress-proxy.ts'
export { programLoader, type ProgramLoaderOptions, programOf } from './external/load-program.ts'
export { reconcileProgram } from './external/program-reconcile.ts'
export { hostProgram } from './external/program-host.ts'
export { dryRunProgram, type ProgramDryRunOptions } from './external/program-dry-run.ts'
export type { HostedProgram } from './external/program-run.ts'
export { networkTrouble, type ExternalProgram, type ProgramLimits } from './external/program.ts'
export { openGatherFolder, type GatherFolder } from './gather-folder.ts'
export { inputsOfCluster, inputsOfGather } from './inputs.ts'
export { operatorMain } from './main.ts'
export type { ClusterFolder, RecordedMutation } from './mutation.ts'
export { inOrder, type ReadMutation, readOutput, type ReadOutput } from './output-reader.ts'
export { redacted } from './redaction.ts'
export type { InputResources, OutputResources, ResourceList } from './resource-list.ts'
export { openOfflineWorld, type OfflineWorld, type OfflineRunOptions, type WorldRun } from './offline-world.ts'
