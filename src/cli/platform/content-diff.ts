/** What changes between two contents of an Installation, as a unified diff. Values of Secrets are masked. */
import { asJson } from '../../kube/json-object.ts'
import { kindOf } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { mask, meetSecrets } from '../../manager/plan/mask.ts'
import { type DiffLine, unified } from '../../manager/plan/unified.ts'

/** Empty where nothing changes. `namespace` is that of objects that name none. */
export function contentDiff(
  before: readonly UntypedObject[],
  after: readonly UntypedObject[],
  namespace: string,
): readonly DiffLine[] {
  const secrets = meetSecrets()
  for (const object of [...before, ...after]) secrets.note(withData(object))
  const keyOf = (object: UntypedObject): string => {
    const { group, kind } = kindOf(object)
    return `${kind}${group === '' ? '' : `.${group}`} ${object.metadata.namespace ?? namespace}/${object.metadata.name}`
  }
  const [old, now] = [before, after].map((objects) => new Map(objects.map((object) => [keyOf(object), object])))
  return [...new Set([...old!.keys(), ...now!.keys()])].flatMap((key) => {
    const shown = mask({ before: asJson(old!.get(key)), after: asJson(now!.get(key)) }, secrets.values)
    return unified(shown.before && writeYaml(shown.before), shown.after && writeYaml(shown.after), key)
  })
}

/** A Secret with all of its values in `data`, as a cluster has it. */
function withData(object: UntypedObject): UntypedObject {
  const plain = object['stringData']
  if (object.kind !== 'Secret' || typeof plain !== 'object' || plain === null) return object
  const encoded = Object.entries(plain).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')])
  return {
    ...object,
    data: { ...(object['data'] as object | undefined), ...Object.fromEntries(encoded) },
  }
}
