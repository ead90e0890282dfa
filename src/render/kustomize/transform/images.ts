/** `images`: new names, tags and digests of container images. */
import { changeSpecified, type FieldSpec, memberSlot, type Slot } from '../config/field-spec.ts'
import { failingAt } from '../failure.ts'
import type { ImageChange } from '../kustomization.ts'
import { found, type Pattern } from '../model/pattern.ts'
import { describeId } from '../model/resource-id.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { isMapping, isScalar, textOf, type Value } from '../model/value.ts'
import { rewritten } from '../model/written-scalar.ts'

export function changeImages(
  resources: ResourceMap,
  change: ImageChange,
  specs: readonly FieldSpec[],
  place: string,
): void {
  // The name is a regular expression; one that is not valid matches nothing.
  const tagOrDigest = String.raw`(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$`
  const matches = tryPattern(`^${change.name ?? ''}${tagOrDigest}`)
  const set = (slot: Slot): void => {
    const value = slot.get()
    if (!isScalar(value)) throw new Error('an image is no text')
    const image = textOf(value)
    if (matches(image)) slot.set(rewritten(value, changedImage(image, change)))
  }
  const inUse = resources.all.filter(({ object, kind }) => object && kind !== 'CustomResourceDefinition')
  for (const { object, id } of inUse) {
    failingAt('KustomizationTransformFailed', `${place} of ${describeId(id)}`, () => changeContainers(object!, set))
  }
  for (const { object, id } of inUse) {
    failingAt('KustomizationTransformFailed', `${place} of ${describeId(id)}`, () => {
      for (const spec of specs) changeSpecified(object!, id, spec, set)
    })
  }
}

function tryPattern(pattern: string): Pattern {
  try {
    return found(pattern, '')
  } catch {
    return () => false
  }
}

/** Lists named `containers` and `initContainers`, wherever they are. */
function changeContainers(value: Value, set: (slot: Slot) => void): void {
  if (Array.isArray(value)) for (const item of value) changeContainers(item, set)
  if (!isMapping(value)) return
  for (const [name, member] of value) {
    changeContainers(member, set)
    if ((name !== 'containers' && name !== 'initContainers') || !Array.isArray(member)) continue
    for (const container of member) {
      if (isMapping(container) && container.has('image')) set(memberSlot(container, 'image'))
    }
  }
}

function changedImage(image: string, { newName, newTag, digest: newDigest, tagSuffix }: ImageChange): string {
  let { name, tag, digest } = splitImage(image)
  if (newName) name = newName
  if (newTag || newDigest) {
    tag = newTag ?? ''
    digest = newDigest ?? ''
  } else if (tagSuffix) {
    tag += tagSuffix
    digest = ''
  }
  return name + (tag === '' ? '' : `:${tag}`) + (digest === '' ? '' : `@${digest}`)
}

interface ImageParts {
  readonly name: string
  readonly tag: string
  readonly digest: string
}

/** The first part may have a port: a colon counts after the first slash only. */
function splitImage(image: string): ImageParts {
  const slash = Math.max(image.indexOf('/'), 0)
  const at = image.indexOf('@', slash)
  const colon = image.indexOf(':', slash)
  const end = at < 0 ? image.length : at
  const digest = at < 0 ? '' : image.slice(at + 1)
  if (colon < 0 || colon > end) return { name: image.slice(0, end), tag: '', digest }
  return { name: image.slice(0, colon), tag: image.slice(colon + 1, end), digest }
}
