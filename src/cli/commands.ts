/** The table of commands. A command's file is loaded only when it runs, so that none slows the others down. */
import type { Command } from './command.ts'

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

export const commands: readonly CommandEntry[] = [
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
  { name: 'run', summary: 'run an operator on a cluster', load: () => import('./run.ts') },
  { name: 'plan', summary: 'show what an operator would write, and write nothing', load: () => import('./plan.ts') },
  { name: 'scorecard', summary: 'examine an operator by what it does', load: () => import('./scorecard.ts') },
  { name: 'sidecar', summary: 'report an application’s state, and act on it', load: () => import('./sidecar.ts') },
  { name: 'watch', summary: 'follow objects through a shared cache', load: () => import('./watch.ts') },
  { name: 'node', summary: 'Node as muster runs it, for the tests of a project', load: () => import('./node.ts') },
  { name: 'version', summary: 'print the version', load: () => import('./version.ts') },
]
