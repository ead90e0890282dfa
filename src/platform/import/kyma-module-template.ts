/**
 * ModuleTemplates of Kyma (operator.kyma-project.io/v1beta2). A module is an OCM component in a registry; one layer of it holds
 * the manifests. The descriptor in the template names registry, component and the digest of that layer.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { type ImageRule, parseImage } from '../image/image-rules.ts'
import type { FieldReader } from './field-reader.ts'
import type { ObjectImport } from './import-installations.ts'
import type { OciSource } from './installation-manifest.ts'

export const importModuleTemplate: ObjectImport = {
  known: {
    'spec.data': 'the default CR is no part of the manifests: apply it when the Installation is ready',
    'spec.manager': 'readiness is judged by all objects',
    'spec.associatedResources': 'removal waits for users of all kinds that the manifests define',
    'spec.info': 'it is for people',
    'spec.resources': 'the manifests come from the descriptor',
    'spec.requiresDowntime': 'there are no maintenance windows',
    'spec.mandatory': 'write the Installation for every cluster that needs it',
    'spec.channel': 'the version decides',
    'spec.customStateCheck': 'write rules for spec.health',
  },
  spec: ({ fields, name }) => {
    const version = fields.text('spec.version')
    const oci = sourceOf(fields, version)
    const images = localizedImages(memberObject(fields.object('spec.descriptor'), 'component'))
    return oci && { name: fields.text('spec.moduleName') ?? name, source: { oci }, images, crds: 'apply' }
  },
}

function sourceOf(fields: FieldReader, version: string | undefined): OciSource | undefined {
  const path = 'spec.descriptor'
  const descriptor = fields.object(path)
  const component = memberObject(descriptor, 'component')
  const layer = objectsOf(component, 'resources').find((one) => isRawManifest(ownMember(one, 'name')))
  const access = memberObject(layer, 'access')
  const digest = ownMember(access, 'localReference') ?? ownMember(access, 'digest')
  // The last context is the registry in which the component is now.
  const context = objectsOf(component, 'repositoryContexts').at(-1)
  const [registry, folder] = [ownMember(context, 'baseUrl'), ownMember(context, 'subPath')]
  const componentName = ownMember(component, 'name')
  if (typeof registry !== 'string' || typeof componentName !== 'string' || typeof digest !== 'string') {
    fields.note(path, 'it must name the registry, the component and its raw-manifest layer; nothing is imported')
    return undefined
  }
  const own = ownMember(component, 'version')
  const host = registry.replace(/^https?:\/\//, '')
  const plainHttp = registry.startsWith('http://') ? ({ plainHttp: true } as const) : {}
  const parts = [host, typeof folder === 'string' ? folder : '', 'component-descriptors', componentName]
  const url = `oci://${parts.filter((part) => part !== '').join('/')}`
  const wanted = version ?? (typeof own === 'string' ? own : undefined)
  return { url, version: wanted, layer: digest, ...plainHttp, kind: 'Manifests' }
}

/** Images of the module where its registry has them: they replace those with the same name and tag in the manifests. */
function localizedImages(component: JsonObject | undefined): readonly ImageRule[] | undefined {
  const rules = objectsOf(component, 'resources').flatMap((one): readonly ImageRule[] => {
    const to = ownMember(memberObject(one, 'access'), 'imageReference')
    if (typeof to !== 'string') return []
    const { name, tag } = parseImage(to)
    return tag === undefined || /\s/.test(to) ? [] : [{ from: `*/${name.split('/').at(-1)}:${tag}`, to }]
  })
  return rules.length === 0 ? undefined : rules
}

function isRawManifest(name: Json | undefined): boolean {
  return name === 'raw-manifest' || name === 'rawManifest'
}

function memberObject(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = ownMember(object, name)
  return isJsonObject(value) ? value : undefined
}

function objectsOf(object: JsonObject | undefined, name: string): readonly JsonObject[] {
  const value = ownMember(object, name)
  return isJsonArray(value) ? value.filter(isJsonObject) : []
}
