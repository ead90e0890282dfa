/** The table of commands. The file of a command is loaded only when it runs, to keep start-up fast. */
import type { Command } from './command.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly default: Command }>
}

export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start a cluster and example operators on this machine', load: () => import('./up.ts') },
  { name: 'top', summary: 'show the recent activity of a running manager', load: () => import('./top.ts') },
  { name: 'cost', summary: 'show what each hosted operator costs', load: () => import('./cost.ts') },
  { name: 'start', summary: 'start an embedded cluster on this machine', load: () => import('./start.ts') },
  {
    name: 'apiserver',
    summary: 'run the embedded API server, in memory or in a folder',
    load: () => import('./apiserver.ts'),
  },
  { name: 'doctor', summary: 'check the connection to a cluster, step by step', load: () => import('./doctor.ts') },
  { name: 'init', summary: 'create a new operator project', load: () => import('./init.ts') },
  {
    name: 'generate',
    summary: 'generate CRDs, roles, docs and dependents of an operator, or types of other kinds',
    load: () => import('./generate.ts'),
  },
  { name: 'run', summary: 'run operators on a cluster', load: () => import('./run.ts') },
  {
    name: 'config',
    summary: 'show the effective configuration, with the source of each value',
    load: () => import('./config.ts'),
  },
  { name: 'plan', summary: 'show what an operator would write (dry run)', load: () => import('./plan.ts') },
  {
    name: 'operator',
    summary: 'the commands of the operator contract: inputs, outputs, one run on a directory',
    load: () => import('./operator.ts'),
  },
  {
    name: 'test',
    summary: 'run declarative tests: input and expected output',
    load: () => import('./test.ts'),
  },
  {
    name: 'inputs',
    summary: 'extract the declared inputs of an operator from a must-gather or a cluster',
    load: () => import('./inputs.ts'),
  },
  {
    name: 'scorecard',
    summary: 'check whether an operator follows the golden rules',
    load: () => import('./scorecard.ts'),
  },
  {
    name: 'simulate',
    summary: 'run an operator with injected faults',
    load: () => import('./simulate.ts'),
  },
  {
    name: 'sidecar',
    summary: 'run beside an application: report its state, run actions on it',
    load: () => import('./sidecar.ts'),
  },
  { name: 'watch', summary: 'follow objects through a shared cache', load: () => import('./watch.ts') },
  { name: 'node', summary: 'run the Node of muster, for the tests of a project', load: () => import('./node.ts') },
  { name: 'version', summary: 'print the version', load: () => import('./version.ts') },
]
