/**
 * The layers of an OCI artifact: which of them is a chart, and which hold files. Tools of the field differ: `flux push artifact`
 * writes one tar+gzip layer; `oras push` one layer a file, with its name in an annotation and often with a media type that does
 * not say what it is, and a tar+gzip layer for a folder; Kyma a layer of YAML or a tar archive beside the component descriptor.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { isDigest } from './source-cache.ts'

export interface OciLayer {
  readonly mediaType: string
  readonly digest: string
  /** In bytes. */
  readonly size: number
  /** The name of a file. */
  readonly title: string | undefined
}

const titleAnnotation = 'org.opencontainers.image.title'

/** Layers without a valid digest and size cannot be fetched, and are left out. */
export function layersOf(manifest: JsonObject): readonly OciLayer[] {
  return objectItems(ownMember(manifest, 'layers')).flatMap((layer) => {
    const [digest, size] = [textValue(ownMember(layer, 'digest')), Number(ownMember(layer, 'size'))]
    if (!isDigest(digest) || !Number.isSafeInteger(size) || size < 0) return []
    const annotations = ownMember(layer, 'annotations')
    const title = textValue(isJsonObject(annotations) ? ownMember(annotations, titleAnnotation) : undefined)
    return [{ mediaType: textValue(ownMember(layer, 'mediaType')), digest, size, title: title || undefined }]
  })
}

const chartTypes = new Set(['application/vnd.cncf.helm.chart.content.v1.tar+gzip', 'application/tar+gzip'])

export function chartLayer(layers: readonly OciLayer[]): OciLayer | undefined {
  return layers.find(({ mediaType }) => chartTypes.has(mediaType))
}

/** Archives, files of YAML, and what is named as a manifest. Signatures, SBOMs and component descriptors are none. */
export function contentLayers(layers: readonly OciLayer[]): readonly OciLayer[] {
  return layers.filter(({ mediaType, title }) => {
    if (mediaType.includes('component-descriptor')) return false
    return isManifestName(title ?? '') || mediaType.split(/[/.+-]/).some((word) => contentWords.has(word))
  })
}

const contentWords = new Set(['tar', 'tgz', 'gzip', 'yaml'])

/** The name of the file that a layer is, should it be no archive; undefined: it must be one. */
export function fileNameOf({ mediaType, title, digest }: OciLayer): string | undefined {
  if (title !== undefined) return title
  return mediaType.includes('yaml') ? `${digest.slice('sha256:'.length, 'sha256:'.length + 12)}.yaml` : undefined
}

export function isManifestName(name: string): boolean {
  return /\.(?:yaml|yml|json)$/.test(name)
}

export function textValue(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function objectItems(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : []
}
