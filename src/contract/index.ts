/** The public surface: turns an operator into a program, and hosts other programs. */
export {
  contractCommands,
  type ContractCommand,
  isContractCommand,
  runContractCommand,
  type Streams,
} from './commands.ts'
export type { ControllerResult, ResultStatus } from './directory/controller-results.ts'
export { inputResourcesOf, outputResourcesOf } from './declaration/declaration.ts'
export { type EgressProxy, type EgressRefusal, openEgressProxy } from './external/egress-proxy.ts'
export { programLoader, type ProgramLoaderOptions, programOf } from './external/load-program.ts'
export { hostProgram } from './external/program-host.ts'
export { dryRunProgram, type ProgramDryRunOptions } from './external/program-dry-run.ts'
export type { HostedProgram } from './external/program-run.ts'
export { programSandboxProblem, type ExternalProgram, type ProgramLimits } from './external/program.ts'
export { openGatherFolder, type GatherFolder } from './directory/gather-folder.ts'
export { inputsOfCluster, inputsOfGather } from './directory/inputs.ts'
export { operatorMain } from './main.ts'
export type { ClusterFolder, RecordedMutation } from './declaration/mutation.ts'
export { inOrder, type ReadMutation, readOutput, type ReadOutput } from './directory/output-reader.ts'
export { redacted } from './directory/redaction.ts'
export type { InputResources, OutputResources, ResourceList } from './declaration/resource-list.ts'
export { openOfflineWorld, type OfflineWorld, type OfflineRunOptions, type WorldRun } from './offline/offline-world.ts'
