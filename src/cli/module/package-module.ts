/** Modules that are named by a package: `@scope/package/part`, and the operators that Muster itself brings. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { GivenOperator } from '../../manager/loading/loader.ts'
import { loadModule, operatorOfModule } from '../../manager/loading/module.ts'
import { resolvePackage } from '../../manager/loading/package.ts'
import { facadeNames } from '../../platform/facade/facade-names.ts'
import { platformName } from '../../platform/installation/holder.ts'
import { scalerName } from '../../workloads/configuration/instascale-section.ts'
import { workloadsName } from '../../workloads/configuration/workloads-config.ts'

/** What the names of Muster's own parts begin with. */
export const ownPackage = '@muster-dev/muster/'

/**
 * `FILE#NAME` of a word that begins with `@`, as an import in a file of the working directory finds it; any other word as it is.
 * Muster's own parts need no installation.
 * @throws ModuleUnusable
 */
export async function moduleReference(word: string): Promise<string> {
  if (!word.startsWith('@')) return word
  const [specifier = '', ...names] = word.split('#')
  const found = await resolvePackage(specifier, process.cwd()).catch((error: unknown) => {
    const file = specifier.startsWith(ownPackage) ? ownFile(specifier.slice(ownPackage.length)) : undefined
    if (file === undefined) throw error
    return file
  })
  return [found, ...names].join('#')
}

/** Operators that Muster brings, by the part that exports them. */
const builtIn: Readonly<Record<string, string>> = {
  platform: platformName,
  'platform/kyma': facadeNames.kyma,
  'platform/open-data-hub': facadeNames.openDataHub,
  workloads: workloadsName,
  'workloads/instascale': scalerName,
}

/** Sources in a checkout; built in a package. */
function ownFile(part: string): string | undefined {
  const isFile = part.includes('/') && Object.hasOwn(builtIn, part)
  if (!isFile && !/^[a-z]+$/.test(part)) return undefined
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const file = fileURLToPath(new URL(`../../${part}${isFile ? '' : '/index'}.${ending}`, import.meta.url))
  return existsSync(file) ? file : undefined
}

/** Operators that a configuration names without `from`. */
export function builtInOperators(): readonly GivenOperator[] {
  return Object.entries(builtIn).flatMap(([part, name]): readonly GivenOperator[] => {
    const module = ownFile(part)
    if (module === undefined) return []
    const load = async (): ReturnType<GivenOperator['load']> => operatorOfModule(await loadModule(module))
    return [{ name, load, module, isOptional: true }]
  })
}
