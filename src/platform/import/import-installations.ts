/**
 * Turns objects of other tools into Installations: HelmReleases and Kustomizations of Flux, Applications of Argo CD,
 * ModuleTemplates of Kyma. Sources to which they refer are given along. What cannot be carried over is noted, field by field.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { platformErrors } from '../errors.ts'
import { importApplication } from './argo-application.ts'
import { FieldReader, type ImportNote, type KnownFields } from './field-reader.ts'
import { importHelmRelease } from './flux-helm-release.ts'
import { importKustomization } from './flux-kustomization.ts'
import { isFluxSource } from './flux-source.ts'
import { type InstallationManifest, type InstallationManifestSpec, withoutUndefined } from './installation-manifest.ts'
import { importModuleTemplate } from './kyma-module-template.ts'

/** An object that is imported, and those that were given along. */
export interface ImportedObject {
  readonly fields: FieldReader
  readonly name: string
  readonly namespace: string | undefined
  readonly notes: ImportNote[]
  /** Another of the objects; undefined if it was not given. It counts as used. */
  find(group: string, kind: string, name: string, namespace: string | undefined): JsonObject | undefined
}

/** How a kind is imported. Undefined: it cannot be; the reason is noted. */
export interface ObjectImport {
  /** Why fields are not carried over. */
  readonly known: KnownFields
  /** Another form of the object that means the same. @default the object itself */
  normalize?(this: void, object: JsonObject): JsonObject
  spec(this: void, object: ImportedObject): (InstallationManifestSpec & { readonly name?: string }) | undefined
}

const imports: ReadonlyMap<string, ObjectImport> = new Map([
  ['helm.toolkit.fluxcd.io/HelmRelease', importHelmRelease],
  ['kustomize.toolkit.fluxcd.io/Kustomization', importKustomization],
  ['argoproj.io/Application', importApplication],
  ['operator.kyma-project.io/ModuleTemplate', importModuleTemplate],
])

interface ImportedObjects {
  readonly installations: readonly InstallationManifest[]
  /** What could not be carried over. */
  readonly notes: readonly ImportNote[]
}

/**
 * @param objects any order; kinds that are no source and cannot be imported are noted
 * @throws InvalidImport: something that is no Kubernetes object
 */
export function importInstallations(objects: readonly unknown[]): ImportedObjects {
  const all = objects.map(readIdentity)
  const used = new Set<JsonObject>()
  const notes: ImportNote[] = []
  const installations = new Map<string, InstallationManifest>()
  for (const identity of all) {
    const { object, about, name, namespace, group, kind } = identity
    const importer = imports.get(`${group}/${kind}`)
    if (!importer) continue
    const fields = new FieldReader(importer.normalize?.(object) ?? object, about, notes)
    for (const path of ['apiVersion', 'kind', 'metadata', 'status', 'operation']) fields.value(path)
    const found = importer.spec({
      fields,
      name,
      namespace,
      notes,
      find: (...wanted) => {
        const source = all.find((one) => isSame(one, ...wanted))?.object
        if (source) used.add(source)
        return source
      },
    })
    if (!found) continue
    fields.close(importer.known)
    const { name: given = name, ...spec } = found
    const key = `${namespace ?? ''}/${given}`
    if (installations.has(key))
      fields.note('', `another object gives the Installation ${given}, too: import them one by one`)
    else installations.set(key, installation(given, namespace, spec))
  }
  for (const { object, about, group, kind } of all) {
    if (imports.has(`${group}/${kind}`) || used.has(object)) continue
    const why = isFluxSource(group, kind)
      ? 'no object that is imported uses it'
      : 'objects of this kind cannot be imported'
    notes.push({ object: about, field: '', why })
  }
  return { installations: [...installations.values()], notes }
}

function installation(
  name: string,
  namespace: string | undefined,
  spec: InstallationManifestSpec,
): InstallationManifest {
  return withoutUndefined<InstallationManifest>({
    apiVersion: 'platform.muster.dev/v1alpha1',
    kind: 'Installation',
    metadata: { name, namespace },
    spec,
  })
}

interface Identity {
  readonly object: JsonObject
  /** `HelmRelease default/web`. */
  readonly about: string
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
}

function readIdentity(object: unknown, index: number): Identity {
  if (!isJsonObject(object)) throw invalid(index, 'it is not an object')
  const metadata = ownMember(object, 'metadata')
  const [apiVersion, kind] = [ownMember(object, 'apiVersion'), ownMember(object, 'kind')]
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || kind === '')
    throw invalid(index, 'it needs apiVersion and kind')
  const name = isJsonObject(metadata) ? ownMember(metadata, 'name') : undefined
  if (typeof name !== 'string' || name === '') throw invalid(index, `the ${kind} needs metadata.name`)
  const namespace = isJsonObject(metadata) ? (ownMember(metadata, 'namespace') ?? undefined) : undefined
  if (namespace !== undefined && typeof namespace !== 'string')
    throw invalid(index, `metadata.namespace of the ${kind} is not text`)
  const { group } = parseApiVersion(apiVersion)
  return { object, about: `${kind} ${namespace ? `${namespace}/` : ''}${name}`, group, kind, name, namespace }
}

function isSame(one: Identity, group: string, kind: string, name: string, namespace: string | undefined): boolean {
  return one.group === group && one.kind === kind && one.name === name && (one.namespace ?? '') === (namespace ?? '')
}

function invalid(index: number, problem: string): MusterError {
  return new MusterError(platformErrors.InvalidImport, `Object ${index + 1} cannot be imported: ${problem}.`)
}
