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
  { name: 'generate', summary: 'write CRDs of your kinds, or types of others’', load: () => import('./generate.ts') },
  { name: 'watch', summary: 'follow objects through a shared cache', load: () => import('./watch.ts') },
  { name: 'version', summary: 'print the version', load: () => import('./version.ts') },
]
