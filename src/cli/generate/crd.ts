/** The CRDs of the kinds of a module. */
import type { Json } from '../../kube/json.ts'
import { writeYaml } from '../../kube/yaml.ts'
import { loadKinds } from '../module.ts'
import type { Made } from './made.ts'

export async function crdFiles(module: string): Promise<readonly Made[]> {
  const kinds = await loadKinds(module)
  return kinds.map((kind) => {
    const crd = kind.crd()
    return { name: `${crd.metadata?.name ?? ''}.yaml`, text: `---\n${writeYaml(crd as unknown as Json)}` }
  })
}
