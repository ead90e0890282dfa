/** `patches`, `patchesStrategicMerge` and `patchesJson6902`. */
import { isJsonObject } from '../../../kube/json.ts'
import { applyJsonPatch, type JsonPatchOperation, parseJsonPatch } from '../../../kube/patch/json-patch.ts'
import { readYamlDocuments } from '../../../kube/yaml/yaml.ts'
import { failingAt, failure } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import type { Kustomization, KustomizationPatch } from '../kustomization.ts'
import type { KindTable } from '../model/kind-table.ts'
import { readObjects } from '../model/read-objects.ts'
import type { BuildResource } from '../model/resource.ts'
import { describeId } from '../model/resource-id.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { ensureMapping, isMapping, jsonOf, valueOf } from '../model/value.ts'
import { mergePatch } from './strategic-merge.ts'

type Transformation = (resources: ResourceMap) => void

interface PatchContext {
  readonly kustomization: Kustomization
  readonly folder: KustomizationFolder
  readonly kinds: KindTable
}

/** Deprecated, and applied before all others. */
export function strategicMergePatches({ kustomization, folder, kinds }: PatchContext): readonly Transformation[] {
  const { file, patchesStrategicMerge } = kustomization
  if (patchesStrategicMerge.length === 0) return []
  const patches = patchesStrategicMerge.flatMap((text, index) => {
    const place = `${file}: patchesStrategicMerge[${index}]`
    const inline = tryRead(text, place, kinds)
    return (inline ?? readObjects(folder.text(text, place), folder.pathOf(text), kinds)).map((patch) => ({
      patch,
      place,
    }))
  })
  if (patches.length === 0)
    throw failure('KustomizationPatchFailed', `${file}: patchesStrategicMerge`, 'all patches are empty')
  return [
    (resources) => {
      for (const { patch, place } of patches) {
        mergeInto(resources, [resources.theOne(patch.originalId, place)], patch, {}, place)
      }
    },
  ]
}

/** Each entry is a strategic merge patch or a JSON patch. */
export function mixedPatches({ kustomization, folder, kinds }: PatchContext): readonly Transformation[] {
  return kustomization.patches.map((entry, index) => {
    const place = `${kustomization.file}: patches[${index}]`
    const text = textOfPatch(entry, folder, place)
    const merge = tryRead(text, place, kinds)
    const json = tryJsonPatch(text)
    if (merge && merge.length > 0 && json && json.length > 0) {
      throw failure('KustomizationPatchFailed', place, 'the patch is both a strategic merge patch and a JSON patch')
    }
    if (merge) return mergeTransformation(entry, merge, place)
    if (json) return jsonTransformation(entry, json, place)
    throw failure(
      'KustomizationPatchFailed',
      place,
      `the patch${entry.path === undefined ? '' : ` ${entry.path}`} is neither an object with kind and metadata.name nor a list of JSON patch operations`,
    )
  })
}

/** Deprecated. */
export function jsonPatches({ kustomization, folder }: PatchContext): readonly Transformation[] {
  return kustomization.patchesJson6902.map((entry, index) => {
    const place = `${kustomization.file}: patchesJson6902[${index}]`
    if (!entry.target?.name) throw failure('KustomizationPatchFailed', place, 'the patch has no target.name')
    const operations = failingAt('KustomizationPatchFailed', place, () =>
      readJsonPatch(textOfPatch(entry, folder, place)),
    )
    if (operations.length === 0) throw failure('KustomizationPatchFailed', place, 'the patch is empty')
    return jsonTransformation(entry, operations, place, false)
  })
}

function textOfPatch({ patch, path }: KustomizationPatch, folder: KustomizationFolder, place: string): string {
  const inline = patch?.trim() ?? ''
  if (inline !== '' && path) throw failure('KustomizationPatchFailed', place, 'patch and path are both set')
  if (inline !== '') return inline
  if (path) return folder.text(path, place)
  throw failure('KustomizationPatchFailed', place, 'one of patch and path must be set')
}

function tryRead(text: string, place: string, kinds: KindTable): readonly BuildResource[] | undefined {
  try {
    return readObjects(text, place, kinds)
  } catch {
    return undefined
  }
}

function tryJsonPatch(text: string): readonly JsonPatchOperation[] | undefined {
  try {
    return readJsonPatch(text)
  } catch {
    return undefined
  }
}

function readJsonPatch(text: string): readonly JsonPatchOperation[] {
  const [document = null] = readYamlDocuments(text, { keepsEnd: true })
  return parseJsonPatch(document)
}

function mergeTransformation(
  entry: KustomizationPatch,
  patches: readonly BuildResource[],
  place: string,
): Transformation {
  const { target, options = {} } = entry
  if (!target) {
    return (resources) => {
      for (const patch of patches) {
        const resource = resources.theOne(patch.originalId, place)
        const copy = patch.clone()
        if (options.allowNameChange || options.allowKindChange) asTexts(copy, 'annotations')
        mergeOne(resource, copy, options, place)
      }
    }
  }
  const [patch, ...others] = patches
  if (others.length > 0) {
    throw failure('KustomizationPatchFailed', place, 'several strategic merge patches cannot have one target')
  }
  return (resources) => {
    if (patch) mergeInto(resources, resources.select(target, `${place}.target`), patch, options, place)
  }
}

/** Merges a copy of the patch into each target. The kind in the patch, or its name, may be another one. */
function mergeInto(
  resources: ResourceMap,
  targets: readonly BuildResource[],
  patch: BuildResource,
  options: NonNullable<KustomizationPatch['options']>,
  place: string,
): void {
  for (const resource of targets) {
    const copy = patch.clone()
    copy.setKind({ ...resource.id, kind: patch.kind })
    for (const field of ['labels', 'annotations'] as const) asTexts(copy, field)
    mergeOne(resource, copy, options, place)
  }
  resources.reset(resources.all.filter((resource) => !resource.isEmpty))
}

/** As in kustomize, a patch with a target or options has texts here: a null is the text null, and an empty map is none. */
function asTexts(patch: BuildResource, field: 'labels' | 'annotations'): void {
  patch.setTextMap(field, patch.textMap(field))
}

function mergeOne(
  resource: BuildResource,
  patch: BuildResource,
  { allowNameChange = false, allowKindChange = false }: NonNullable<KustomizationPatch['options']>,
  place: string,
): void {
  if (!resource.object || !patch.object) return
  const { name, namespace, kind } = resource
  if (allowNameChange || allowKindChange) resource.rememberName()
  const where = `${place} for ${describeId(resource.id)}`
  resource.object = failingAt('KustomizationPatchFailed', where, () =>
    mergePatch(resource.object ?? new Map(), patch.object ?? new Map(), resource.kinds),
  )
  if (resource.isEmpty) return
  if (!allowKindChange) resource.object?.set('kind', kind)
  if (!allowNameChange) resource.setName(name)
  resource.setNamespace(namespace)
}

function jsonTransformation(
  entry: KustomizationPatch,
  operations: readonly JsonPatchOperation[],
  place: string,
  isRemembered = true,
): Transformation {
  const { target } = entry
  if (!target) throw failure('KustomizationPatchFailed', place, 'a JSON patch needs a target')
  return (resources) => {
    for (const resource of resources.select(target, `${place}.target`)) {
      if (isRemembered) resource.rememberName()
      // What kustomize knows about an object is in its annotations: then there are some.
      if (resource.isAnnotated && resource.object) ensureMapping(resource.object, 'metadata', 'annotations')
      const where = `${place} for ${describeId(resource.id)}`
      const patched = failingAt('KustomizationPatchFailed', where, () =>
        applyJsonPatch(jsonOf(resource.object ?? new Map()), operations),
      )
      if (!isJsonObject(patched)) throw failure('KustomizationPatchFailed', where, 'the result is no object')
      const object = valueOf(patched)
      resource.object = isMapping(object) ? object : undefined
    }
  }
}
