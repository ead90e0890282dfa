/** The simulated application of `--live FILE`, for commands that simulate an operator. */
import { MusterError } from '../kube/errors.ts'
import type { Live } from '../operator/live.ts'
import type { MakeOutside } from '../simulate/faults/run.ts'
import { loadExports } from './module.ts'

/** @throws ModuleUnusable */
export async function readOutside(file: string): Promise<MakeOutside> {
  const { live, outside } = await loadExports(file)
  if (typeof outside === 'function') return outside as MakeOutside
  if (typeof live === 'function') return () => ({ live: (live as () => Live)() })
  throw new MusterError('ModuleUnusable', `${file} exports no function live or outside: it makes what answers.`)
}
