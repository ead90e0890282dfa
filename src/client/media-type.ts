/** Representations: what a body is, and what the answer shall be. */
import type { PatchType } from './client.ts'

const json = 'application/json'

export const mediaType: Readonly<Record<'json' | 'metadata' | 'metadataList' | 'table' | 'discovery', string>> = {
  json,
  // A server that cannot cut objects down (some aggregated ones) may send them whole: dearer, but it works.
  metadata: `${json};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${json}`,
  metadataList: `${json};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${json}`,
  // Without a fall-back: an object is no table.
  table: `${json};as=Table;g=meta.k8s.io;v=v1`,
  // All groups in one document, the newest form first; servers without it send the old list of groups.
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
  // YAML by name; JSON is YAML, and keeps long integers.
  apply: 'application/apply-patch+yaml',
}
