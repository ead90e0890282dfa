/** The table of commands. The file of a command is loaded only when it runs, to keep start-up fast. */
import type { Command } from './command/command.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** Flags of the engine, for a process that runs this command. */
  readonly engine?: readonly string[]
  load(): Promise<{ readonly default: Command }>
}

export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start a cluster and example operators on this machine', load: () => import('./up/up.ts') },
  { name: 'top', summary: 'show the recent activity of a running manager', load: () => import('./manager/top.ts') },
  {
    name: 'explain',
    summary: 'say why an object is not ready',
    load: () => import('./manager/explain.ts'),
  },
  { name: 'logs', summary: 'show the log of a running manager', load: () => import('./manager/logs.ts') },
  { name: 'pause', summary: 'stop reconciling an operator or an object', load: () => import('./manager/pause.ts') },
  { name: 'resume', summary: 'end a pause', load: () => import('./manager/resume.ts') },
  { name: 'retry', summary: 'reconcile an object now', load: () => import('./manager/retry.ts') },
  { name: 'cost', summary: 'show what each hosted operator costs', load: () => import('./manager/cost.ts') },
  { name: 'start', summary: 'start an embedded cluster on this machine', load: () => import('./cluster/start.ts') },
  {
    name: 'apiserver',
    summary: 'run the embedded API server, in memory or in a folder',
    load: () => import('./cluster/apiserver.ts'),
  },
  {
    name: 'envtest',
    summary: 'make the folder that KUBEBUILDER_ASSETS names: a test control plane for any language',
    load: () => import('./envtest/envtest.ts'),
  },
  {
    name: 'doctor',
    summary: 'check the connection to a cluster, step by step',
    load: () => import('./cluster/doctor.ts'),
  },
  { name: 'init', summary: 'create a new operator project', load: () => import('./init/init.ts') },
  {
    name: 'generate',
    summary: 'generate CRDs, roles, docs and dependents of an operator, or types of other kinds',
    load: () => import('./generate/generate.ts'),
  },
  { name: 'run', summary: 'run operators on a cluster', load: () => import('./manager/run.ts') },
  {
    name: 'config',
    summary: 'show the effective configuration, with the source of each value',
    load: () => import('./manager/config.ts'),
  },
  { name: 'plan', summary: 'show what an operator would write (dry run)', load: () => import('./manager/plan.ts') },
  {
    name: 'render',
    summary: 'render a chart, a kustomization or manifests as objects',
    // One render ends before the slower optimising compiler has paid off, even of thousands of templates.
    engine: ['--no-turbofan'],
    load: () => import('./render/render.ts'),
  },
  {
    name: 'install',
    summary: 'install a chart, a kustomization or manifests, and keep it as declared',
    load: () => import('./platform/install.ts'),
  },
  {
    name: 'upgrade',
    summary: 'change the source, the version or the values of an Installation',
    load: () => import('./platform/upgrade.ts'),
  },
  {
    name: 'rollback',
    summary: 'go back to an earlier revision of an Installation',
    load: () => import('./platform/rollback.ts'),
  },
  {
    name: 'uninstall',
    summary: 'remove an Installation and its objects',
    load: () => import('./platform/uninstall.ts'),
  },
  {
    name: 'history',
    summary: 'show the revisions of an Installation',
    load: () => import('./platform/history.ts'),
  },
  {
    name: 'diff',
    summary: 'show what an upgrade of an Installation would change',
    load: () => import('./platform/diff.ts'),
  },
  {
    name: 'import',
    summary: 'turn objects of Flux, Argo CD and Kyma into Installations',
    load: () => import('./platform/import.ts'),
  },
  {
    name: 'adopt',
    summary: 'take over a release of Helm as an Installation, or give it back',
    load: () => import('./platform/adopt.ts'),
  },
  {
    name: 'queue',
    summary: 'say why AppWrappers wait, whether one would start; replay a trace of workloads',
    load: () => import('./workloads/queue.ts'),
  },
  {
    name: 'codeflare',
    summary: 'run in place of the CodeFlare operator, MCAD or InstaScale, with their flags',
    load: () => import('./workloads/codeflare.ts'),
  },
  {
    name: 'migrate',
    summary: 'turn the configuration of MCAD, InstaScale and the CodeFlare operator into one of a manager',
    load: () => import('./workloads/migrate.ts'),
  },
  {
    name: 'operator',
    summary: 'the commands of the operator contract: inputs, outputs, one run on a directory',
    load: () => import('./contract/operator.ts'),
  },
  {
    name: 'test',
    summary: 'run declarative tests: input and expected output',
    load: () => import('./testing/test.ts'),
  },
  {
    name: 'inputs',
    summary: 'extract the declared inputs of an operator from a must-gather or a cluster',
    load: () => import('./contract/inputs.ts'),
  },
  {
    name: 'scorecard',
    summary: 'check whether an operator follows the golden rules',
    load: () => import('./testing/scorecard.ts'),
  },
  {
    name: 'simulate',
    summary: 'run an operator with injected faults',
    load: () => import('./testing/simulate.ts'),
  },
  {
    name: 'sidecar',
    summary: 'run beside an application: report its state, run actions on it',
    load: () => import('./sidecar.ts'),
  },
  { name: 'watch', summary: 'follow objects through a shared cache', load: () => import('./cluster/watch.ts') },
  { name: 'node', summary: 'run the Node of muster, for the tests of a project', load: () => import('./node.ts') },
  {
    name: 'completion',
    summary: 'print a script that completes commands in a shell',
    load: () => import('./completion.ts'),
  },
  { name: 'version', summary: 'print the version', load: () => import('./version.ts') },
]
