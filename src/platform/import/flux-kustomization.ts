/** Kustomizations of Flux (kustomize.toolkit.fluxcd.io/v1) whose source is an OCI artifact. */
import type { FieldReader } from './field-reader.ts'
import { dependencies, healthExpressions } from './flux-fields.ts'
import { isRemote } from './flux-helm-release.ts'
import { ociSource, readSourceReference } from './flux-source.ts'
import type { ImageRule } from '../image/image-rules.ts'
import type { ObjectImport } from './import-installations.ts'
import type { InstallationManifestSpec } from './installation-manifest.ts'

const inSource = 'write it into the kustomization of the source'

export const importKustomization: ObjectImport = {
  known: {
    'spec.patches': inSource,
    'spec.components': inSource,
    'spec.namePrefix': inSource,
    'spec.nameSuffix': inSource,
    'spec.commonMetadata': inSource,
    'spec.ignoreMissingComponents': inSource,
    'spec.postBuild': 'variables in manifests are not replaced: use replacements of the kustomization',
    'spec.decryption': 'encrypted manifests are not decrypted',
    'spec.force': 'objects with changed immutable fields are reported, not replaced',
    'spec.retryInterval': 'retries come with growing pauses',
    'spec.healthChecks': 'the health of all objects is awaited',
    'spec.buildMetadata': 'origins of objects are not written into annotations',
  },
  spec: (object) => {
    const { fields, namespace } = object
    if (isRemote(fields)) return undefined
    const path = withoutDot(fields.text('spec.path'))
    const reference = readSourceReference(fields, 'spec.sourceRef', namespace)
    const source = ociSource(object, reference, { kind: 'Kustomization', path })
    if (!source) return undefined
    const prune = fields.flag('spec.prune') ?? false
    // Drift is seen by watches, and put right at once.
    fields.value('spec.interval')
    if (fields.flag('spec.wait') === false) fields.note('spec.wait', 'the health of all objects is awaited')
    return {
      source,
      targetNamespace: fields.text('spec.targetNamespace'),
      images: images(fields),
      dependsOn: dependencies(fields, namespace),
      serviceAccountName: fields.text('spec.serviceAccountName'),
      timeout: fields.text('spec.timeout'),
      drift: { mode: 'correct' },
      remediation: { strategy: 'none' },
      prune,
      deletion: deletion(fields, prune),
      suspend: fields.flag('spec.suspend') || undefined,
      crds: 'apply',
      health: healthExpressions(fields),
    }
  },
}

/** `./deploy` → `deploy`; the whole artifact is no path. */
function withoutDot(path: string | undefined): string | undefined {
  const plain = path?.startsWith('./') ? path.slice(2) : path
  return plain === '' || plain === '.' ? undefined : plain
}

/** Images of kustomize: a name, and another name, tag or digest. */
function images(fields: FieldReader): InstallationManifestSpec['images'] {
  const list = fields.each<ImageRule>('spec.images', {}, (item) => {
    const name = item.text('name')
    if (name === undefined) {
      item.note('', 'it must have a name')
      return undefined
    }
    const [newName = name, tag, digest] = ['newName', 'newTag', 'digest'].map((field) => item.text(field))
    const version = digest === undefined ? (tag === undefined ? '' : `:${tag}`) : `@${digest}`
    return { from: name, to: `${newName}${version}` }
  })
  return list.length === 0 ? undefined : list
}

function deletion(fields: FieldReader, prune: boolean): 'delete' | 'orphan' {
  const policy = fields.text('spec.deletionPolicy') ?? 'MirrorPrune'
  switch (policy) {
    case 'MirrorPrune':
      return prune ? 'delete' : 'orphan'
    case 'Delete':
    case 'WaitForTermination':
      return 'delete'
    case 'Orphan':
      return 'orphan'
    default:
      // Not to delete can be put right.
      fields.note('spec.deletionPolicy', `there is no policy ${policy}: objects are kept`)
      return 'orphan'
  }
}
