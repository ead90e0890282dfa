/** Defaults of volumes. A volume without a source is an emptyDir. */
import type { JsonObject } from '../../../kube/json.ts'
import { pullPolicyOf, roundResources } from '../container/container-defaults.ts'
import { type Draft, fillAbsent, fillZeros, ensurePart, part, parts } from '../strategy/draft.ts'

/** 0644. */
const defaultMode = 420

/** By source: defaults of pointers (set if absent), and of plain fields (set if zero). */
const absent: Readonly<Record<string, JsonObject>> = {
  hostPath: { type: '' },
  secret: { defaultMode },
  configMap: { defaultMode },
  downwardAPI: { defaultMode },
  projected: { defaultMode },
  azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
}
const zero: Readonly<Record<string, JsonObject>> = {
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
}

export function defaultVolume(volume: Draft): void {
  if (Object.keys(volume).every((name) => name === 'name')) volume['emptyDir'] = {}
  for (const [source, defaults] of Object.entries(absent)) fillAbsent(part(volume, source), defaults)
  for (const [source, defaults] of Object.entries(zero)) fillZeros(part(volume, source), defaults)
  const image = part(volume, 'image')
  if (image) fillZeros(image, { pullPolicy: pullPolicyOf(image['reference']) })
  defaultFieldItems(part(volume, 'downwardAPI'))
  for (const source of parts(part(volume, 'projected'), 'sources')) {
    defaultFieldItems(part(source, 'downwardAPI'))
    fillAbsent(part(source, 'serviceAccountToken'), { expirationSeconds: 3600 })
  }
  const claim = part(part(volume, 'ephemeral'), 'volumeClaimTemplate')
  if (claim) defaultClaimSpec(ensurePart(claim, 'spec'))
}

function defaultFieldItems(source: Draft | undefined): void {
  for (const item of parts(source, 'items')) fillZeros(part(item, 'fieldRef'), { apiVersion: 'v1' })
}

/** Defaults of a claim's spec: in a claim, in an ephemeral volume of a pod, or in a StatefulSet's template. */
export function defaultClaimSpec(spec: Draft): void {
  fillAbsent(spec, { volumeMode: 'Filesystem' })
  const resources = ensurePart(spec, 'resources')
  roundResources(part(resources, 'limits'))
  roundResources(part(resources, 'requests'))
}
