/**
 * A kustomization turned into objects, as `kustomize build` does it, from files in memory. Nothing is fetched and nothing is
 * executed: remote resources, plugins and charts inside of a kustomization are refused.
 */
import { posix } from 'node:path'
import { isJsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYamlDocuments, writeYaml } from '../../kube/yaml/yaml.ts'
import { accumulate, buildContext } from './build.ts'
import { failingAt, failure } from './failure.ts'
import { KustomizationFolder, type KustomizationFiles, stripEnd } from './files.ts'
import { type Kustomization, readKustomization } from './kustomization.ts'
import { builtinKinds, type KindTable, openApiKinds } from './model/kind-table.ts'
import { describeId } from './model/resource-id.ts'
import type { ResourceMap } from './model/resource-list.ts'
import { jsonOf } from './model/value.ts'
import { finishAnnotations, Origins } from './origins.ts'
import { updateReferences } from './transform/back-references.ts'
import { setMembers } from './transform/labels.ts'
import { addHashes } from './transform/names.ts'
import { sortResources } from './transform/sort.ts'
import { resolveVars } from './transform/vars.ts'

interface KustomizationOptions {
  /**
   * The order of the objects if the kustomization has no `sortOptions`: `legacy` sorts by kind, `none` keeps that of the files.
   * @default 'legacy'
   */
  readonly reorder?: 'legacy' | 'none' | undefined
}

interface RenderedKustomization {
  readonly objects: readonly UntypedObject[]
  /** The objects as `kustomize build` prints them. */
  readonly text: string
}

/**
 * Renders the kustomization in `folder`, a path in `files`; `.` is their root.
 * @throws MusterError of {@link kustomizeErrors}, with the file and the field
 */
export function renderKustomization(
  files: KustomizationFiles,
  folder: string,
  options: KustomizationOptions = {},
): RenderedKustomization {
  const root = new KustomizationFolder(files, stripEnd(posix.normalize(folder === '' ? '.' : folder)))
  const kustomization = readKustomization(root)
  const { file, buildMetadata, sortOptions } = kustomization
  const kinds = kindTable(root, kustomization)
  const origins = new Origins('', kustomization.fileName, buildMetadata.length > 0)
  const { resources, config, vars } = accumulate(root, kustomization, buildContext(kinds), origins)
  addHashes(resources)
  updateReferences(resources, config, file)
  resolveVars(resources, vars, config.varReference, `${file}: vars`)
  dropLocal(resources, file)
  const order = sortOptions ?? { order: options.reorder === 'none' ? 'fifo' : 'legacy' }
  resources.reset(sortResources(resources.all, order, file))
  if (buildMetadata.includes('managedByLabel')) {
    const labels = { 'app.kubernetes.io/managed-by': 'muster' }
    setMembers(resources, labels, [{ path: 'metadata/labels', create: true }], `${file}: buildMetadata`)
  }
  for (const resource of resources.all) finishAnnotations(resource, buildMetadata)
  const objects = resources.all.flatMap(({ object, id }) => {
    const place = `${file}: ${describeId(id)}`
    return object ? [failingAt('KustomizationTransformFailed', place, () => jsonOf(object))] : []
  })
  return { objects: objects.filter(isJsonObject).map(asObject), text: objects.map(writeYaml).join('---\n') }
}

/** Objects that are meant for tools alone are not rendered. */
function dropLocal(resources: ResourceMap, file: string): void {
  const nameless = resources.all.find(({ isEmpty, kind, name }) => !isEmpty && !kind.endsWith('List') && name === '')
  if (nameless) {
    throw failure('KustomizationTransformFailed', file, `an object of kind ${nameless.kind} has lost its metadata.name`)
  }
  resources.reset(
    resources.all.filter((resource) => {
      const local = resource.textMap('annotations').get('config.kubernetes.io/local-config')
      return local === undefined || local === 'false'
    }),
  )
}

function kindTable(folder: KustomizationFolder, { openapi = {}, file }: Kustomization): KindTable {
  const { path, version } = openapi
  const place = `${file}: openapi`
  if (path === undefined) {
    if (version !== undefined && version !== 'v1.21.2') {
      throw failure('KustomizationInvalid', place, 'the only version is v1.21.2; use path for another document')
    }
    return builtinKinds
  }
  if (version !== undefined) throw failure('KustomizationInvalid', place, 'path and version are both set')
  const text = folder.text(path, place)
  const source = folder.pathOf(path)
  const [document] = failingAt('KustomizationInvalid', source, () =>
    readYamlDocuments(text, { source, keepsEnd: true }),
  )
  if (!isJsonObject(document)) throw failure('KustomizationInvalid', source, 'not an OpenAPI document')
  return openApiKinds(document)
}
