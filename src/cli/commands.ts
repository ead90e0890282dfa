/** The table of commands. A command's file is loaded only when it runs, so that none slows the others down. */
import type { Command } from './command.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly default: Command }>
}

export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start a cluster and example operators on this machine', load: () => import('./up.ts') },
  { name: 'top', summary: 'show what a running manager is doing', load: () => import('./top.ts') },
  { name: 'cost', summary: 'show what each hosted operator costs', load: () => import('./cost.ts') },
  { name: 'start', summary: 'start an embedded cluster on this machine', load: () => import('./start.ts') },
  {
    name: 'apiserver',
    summary: 'run the embedded API server, in memory or in a folder',
    load: () => import('./apiserver.ts'),
  },
  { name: 'doctor', summary: 'check the connection to a cluster, step by step', load: () => import('./doctor.ts') },
  { name: 'init', summary: 'begin an operator: a new project that runs', load: () => import('./init.ts') },
  {
    name: 'generate',
    summary: 'write CRDs, roles and resources of your operator, or types of others’ kinds',
    load: () => import('./generate.ts'),
  },
  { name: 'run', summary: 'run operators on a cluster', load: () => import('./run.ts') },
  {
    name: 'config',
    summary: 'show a configuration, and where each value comes from',
    load: () => import('./config.ts'),
  },
  { name: 'plan', summary: 'show what an operator would write, and write nothing', load: () => import('./plan.ts') },
  {
    name: 'operator',
    summary: 'the commands of the operator contract: what it reads, what it writes, one run on a directory',
    load: () => import('./operator.ts'),
  },
  {
    name: 'test',
    summary: 'run declarative tests: what goes in, what shall come out',
    load: () => import('./test.ts'),
  },
  {
    name: 'inputs',
    summary: 'cut the inputs of an operator out of a must-gather, or of a cluster',
    load: () => import('./inputs.ts'),
  },
  { name: 'scorecard', summary: 'examine an operator by what it does', load: () => import('./scorecard.ts') },
  {
    name: 'simulate',
    summary: 'try an operator with everything that can go wrong',
    load: () => import('./simulate.ts'),
  },
  { name: 'sidecar', summary: 'report an application’s state, and act on it', load: () => import('./sidecar.ts') },
  { name: 'watch', summary: 'follow objects through a shared cache', load: () => import('./watch.ts') },
  { name: 'node', summary: 'Node as muster runs it, for the tests of a project', load: () => import('./node.ts') },
  { name: 'version', summary: 'print the version', load: () => import('./version.ts') },
]
