/** The CRDs of the kinds of a module. */
import type { Json } from '../../kube/json.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { checkKind } from '../../operator/kind/kind-check.ts'
import { loadKinds } from '../module/module.ts'
import type { GeneratorOutput } from './generator-output.ts'

/** @throws InvalidKind for a kind that an API server would reject */
export async function crdFiles(module: string): Promise<readonly GeneratorOutput[]> {
  const kinds = await loadKinds(module)
  return kinds.map((kind) => {
    checkKind(kind)
    const crd = kind.crd()
    return { name: `${crd.metadata?.name ?? ''}.yaml`, text: `---\n${writeYaml(crd as unknown as Json)}` }
  })
}
