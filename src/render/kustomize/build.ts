/**
 * Builds one kustomization: reads its resources (files, and folders that are kustomizations themselves), adds generated objects
 * and components, then transforms all of them in kustomize's order. References to renamed objects, hashes and vars come
 * last, once, when all names are final.
 */
import { defaultConfig } from './config/default-config.ts'
import { readCrdFields } from './config/crds.ts'
import {
  emptyConfig,
  mergeConfigs,
  readTransformerConfig,
  type TransformerConfig,
} from './config/transformer-config.ts'
import { failingAt, failure } from './failure.ts'
import type { KustomizationFolder } from './files.ts'
import { hasKustomization, type Kustomization, readKustomization } from './kustomization.ts'
import type { KindTable } from './model/kind-table.ts'
import type { Origins } from './origins.ts'
import { readObjects } from './model/read-objects.ts'
import { ResourceMap } from './model/resource-list.ts'
import { absorb, generate } from './transform/generators.ts'
import { changeImages } from './transform/images.ts'
import { labelFields, setMembers } from './transform/labels.ts'
import { addPrefix, addSuffix } from './transform/names.ts'
import { setNamespace } from './transform/namespace.ts'
import { jsonPatches, mixedPatches, strategicMergePatches } from './transform/patches.ts'
import { readReplacements, replaceFields } from './transform/replacements.ts'
import { setReplicas } from './transform/replicas.ts'
import { addVars, joinVars, type Vars } from './transform/vars.ts'

/** Everything that a kustomization passes on to the one that uses it. */
interface Accumulated {
  readonly resources: ResourceMap
  config: TransformerConfig
  vars: Vars
}

interface BuildContext {
  readonly kinds: KindTable
  /** Number of kustomizations read so far: a few files can stand for millions of objects. */
  readonly count: { kustomizations: number; objects: number }
}

export function buildContext(kinds: KindTable): BuildContext {
  return { kinds, count: { kustomizations: 0, objects: 0 } }
}

const mostKustomizations = 5000
const mostObjects = 200_000

/** Builds a kustomization into `into`, which has the objects of the parent if it is a component. */
export function accumulate(
  folder: KustomizationFolder,
  kustomization: Kustomization,
  context: BuildContext,
  origins: Origins,
  into: Accumulated = emptyAccumulated(kustomization),
): Accumulated {
  const { file } = kustomization
  if (++context.count.kustomizations > mostKustomizations) {
    throw failure('KustomizationInvalid', file, `more than ${mostKustomizations} kustomizations are used`)
  }
  addResources(into, folder, kustomization, context, origins)
  into.config = joinedConfig(into.config, ownConfig(folder, kustomization), file)
  addGenerated(into, folder, kustomization, context, origins)
  const whole = addComponents(into, folder, kustomization, context, origins)
  transform(whole, folder, kustomization, context, origins)
  whole.vars = addVars(whole.vars, kustomization.vars, whole.resources, `${file}: vars`)
  return whole
}

function emptyAccumulated({ file }: Kustomization): Accumulated {
  return { resources: new ResourceMap(file), config: emptyConfig, vars: new Map() }
}

function addResources(
  into: Accumulated,
  folder: KustomizationFolder,
  kustomization: Kustomization,
  context: BuildContext,
  origins: Origins,
): void {
  for (const [index, path] of kustomization.resources.entries()) {
    const place = `${kustomization.file}: resources[${index}]`
    if (folder.isFile(path)) {
      const resources = readObjects(folder.text(path, place), folder.pathOf(path), context.kinds)
      for (const resource of resources) resource.origin = origins.ofFile(path)
      into.resources.append(resources)
      context.count.objects += resources.length
    } else {
      const child = folder.folder(path, place)
      const read = readChild(child, 'Kustomization', place)
      const built = accumulate(child, read, context, origins.within(path, read.fileName))
      context.count.objects += built.resources.all.length
      join(into, built, kustomization.file)
    }
    if (context.count.objects > mostObjects) {
      throw failure('KustomizationInvalid', place, `more than ${mostObjects} objects are used`)
    }
  }
}

function join(into: Accumulated, added: Accumulated, place: string): void {
  into.resources.append(added.resources.all)
  into.config = joinedConfig(into.config, added.config, place)
  into.vars = joinVars(into.vars, added.vars, place)
}

function joinedConfig(config: TransformerConfig, added: TransformerConfig, place: string): TransformerConfig {
  return config === emptyConfig && added === defaultConfig ? added : mergeConfigs(config, added, place)
}

function readChild(folder: KustomizationFolder, kind: Kustomization['kind'], place: string): Kustomization {
  if (!hasKustomization(folder)) {
    throw failure('KustomizationFileMissing', place, `the folder ${folder.path} has no kustomization.yaml`)
  }
  const read = readKustomization(folder)
  if (read.kind !== kind) {
    const cure = kind === 'Component' ? 'name it in resources' : 'name it in components'
    throw failure('KustomizationInvalid', place, `${read.file} is a ${read.kind}: ${cure}`)
  }
  return read
}

function ownConfig(folder: KustomizationFolder, kustomization: Kustomization): TransformerConfig {
  const { file, configurations, crds } = kustomization
  const added = configurations.reduce(
    (config, path, index) =>
      mergeConfigs(config, readTransformerConfig(folder, path, `${file}: configurations[${index}]`), file),
    emptyConfig,
  )
  const withOwn = configurations.length === 0 ? defaultConfig : mergeConfigs(defaultConfig, added, file)
  return crds.reduce(
    (config, path, index) => mergeConfigs(config, readCrdFields(folder, path, `${file}: crds[${index}]`), file),
    withOwn,
  )
}

function addGenerated(
  into: Accumulated,
  folder: KustomizationFolder,
  kustomization: Kustomization,
  { kinds }: BuildContext,
  origins: Origins,
): void {
  const { file, generatorOptions } = kustomization
  for (const [kind, field] of [
    ['ConfigMap', 'configMapGenerator'],
    ['Secret', 'secretGenerator'],
  ] as const) {
    for (const [index, given] of kustomization[field].entries()) {
      const place = `${file}: ${field}[${index}]`
      const generated = generate(kind, given, generatorOptions, folder, kinds, place)
      generated.origin = origins.ofBuiltin(`${kind}Generator`)
      absorb(into.resources, generated, place)
    }
  }
}

function addComponents(
  into: Accumulated,
  folder: KustomizationFolder,
  kustomization: Kustomization,
  context: BuildContext,
  origins: Origins,
): Accumulated {
  return kustomization.components.reduce((whole, path, index) => {
    const place = `${kustomization.file}: components[${index}]`
    const child = folder.folder(path, place)
    const read = readChild(child, 'Component', place)
    const added = accumulate(child, read, context, origins.within(path, read.fileName), whole)
    // A component may have renamed objects: no two have one id after it.
    added.resources.reset(added.resources.all)
    return added
  }, into)
}

function transform(
  { resources, config }: Accumulated,
  folder: KustomizationFolder,
  kustomization: Kustomization,
  { kinds }: BuildContext,
  origins: Origins,
): void {
  const { file } = kustomization
  const patchContext = { kustomization, folder, kinds }
  const run = (name: string, work: () => void): void => {
    work()
    for (const resource of resources.all) origins.note(resource, name)
    resources.dropEmpty()
  }
  for (const patch of strategicMergePatches(patchContext)) run('PatchStrategicMergeTransformer', () => patch(resources))
  for (const patch of mixedPatches(patchContext)) run('PatchTransformer', () => patch(resources))
  const { namespace, namePrefix, nameSuffix, labels, commonLabels, commonAnnotations } = kustomization
  if (namespace !== '') {
    run('NamespaceTransformer', () => setNamespace(resources, namespace, config.namespace, `${file}: namespace`))
  }
  if (namePrefix !== '') {
    run('PrefixTransformer', () =>
      failingAt('KustomizationTransformFailed', `${file}: namePrefix`, () =>
        addPrefix(resources, namePrefix, config.namePrefix),
      ),
    )
  }
  if (nameSuffix !== '') {
    run('SuffixTransformer', () =>
      failingAt('KustomizationTransformFailed', `${file}: nameSuffix`, () =>
        addSuffix(resources, nameSuffix, config.nameSuffix),
      ),
    )
  }
  for (const [index, label] of labels.entries()) {
    const place = `${file}: labels[${index}]`
    const specs = labelFields(label, config, place)
    run('LabelTransformer', () => setMembers(resources, label.pairs ?? {}, specs, place))
  }
  if (labels.length > 0 || Object.keys(commonLabels).length > 0) {
    run('LabelTransformer', () => setMembers(resources, commonLabels, config.commonLabels, `${file}: commonLabels`))
  }
  if (Object.keys(commonAnnotations).length > 0) {
    const place = `${file}: commonAnnotations`
    run('AnnotationsTransformer', () => setMembers(resources, commonAnnotations, config.commonAnnotations, place))
  }
  for (const patch of jsonPatches(patchContext)) run('PatchJson6902Transformer', () => patch(resources))
  for (const [index, { name = '', count = 0 }] of kustomization.replicas.entries()) {
    const place = `${file}: replicas[${index}]`
    run('ReplicaCountTransformer', () => setReplicas(resources, name, count, config.replicas, place))
  }
  for (const [index, change] of kustomization.images.entries()) {
    run('ImageTagTransformer', () => changeImages(resources, change, config.images, `${file}: images[${index}]`))
  }
  if (kustomization.replacements.length > 0) {
    const place = `${file}: replacements`
    const replacements = readReplacements(kustomization.replacements, folder, place)
    run('ReplacementTransformer', () => replaceFields(resources, replacements, place))
  }
}
