/** The simulated application of `--live FILE`, for commands that simulate an operator. */
import { managerErrors } from '../../manager/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Live } from '../../operator/live.ts'
import type { MakeOutside } from '../../simulate/faults/run.ts'
import { loadExports } from '../module/module.ts'

/** @throws ModuleUnusable */
export async function readOutside(file: string): Promise<MakeOutside> {
  const { live, outside } = await loadExports(file)
  if (typeof outside === 'function') return outside as MakeOutside
  if (typeof live === 'function') return () => ({ live: (live as () => Live)() })
  throw new MusterError(
    managerErrors.ModuleUnusable,
    `${file} exports no function live or outside: it makes what answers.`,
  )
}
