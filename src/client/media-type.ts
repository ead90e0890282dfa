/** Content types of requests and responses. */
import type { PatchType } from './client.ts'

const json = 'application/json'

export const mediaType: Readonly<Record<'json' | 'metadata' | 'metadataList' | 'table' | 'discovery', string>> = {
  json,
  // Some aggregated servers do not support metadata-only responses: the full object is accepted, too.
  metadata: `${json};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${json}`,
  metadataList: `${json};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${json}`,
  // Without a fallback: an object is not a table.
  table: `${json};as=Table;g=meta.k8s.io;v=v1`,
  // Aggregated discovery, newest version first; servers without it send the list of groups.
  discovery: [
    `${json};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`,
    `${json};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList`,
    json,
  ].join(','),
}

export const patchMediaType: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  // YAML by name; JSON is valid YAML, and keeps 64-bit integers.
  apply: 'application/apply-patch+yaml',
}
