/** VolumeAttachments: a request to attach a volume to a node. The spec is immutable. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { VolumeAttachment } from '../../../kube/types/storage/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { caselessSubdomain, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

const longestAttacher = 63

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { attacher = '', nodeName = '', source = {} } = (object as unknown as SentObject<VolumeAttachment>).spec ?? {}
  const { persistentVolumeName: name, inlineVolumeSpec: inline } = source
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (inline === undefined && name === undefined) yield requiredField('spec.source', one)
  else if (inline !== undefined && name !== undefined) yield forbiddenField('spec.source', one)
  else if (name === '')
    yield requiredField('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName')
  yield* eachInvalid('spec.nodeName', nodeName, dnsSubdomain(nodeName))
  if (name !== undefined) yield* eachInvalid('spec.source.persistentVolumeName', name, dnsSubdomain(name))
  if (attacher === '') yield requiredField('spec.attacher')
  else {
    if (Buffer.byteLength(attacher) > longestAttacher) yield tooLong('spec.attacher', longestAttacher)
    yield* eachInvalid('spec.attacher', attacher, caselessSubdomain(attacher))
  }
}

export const volumeAttachmentRules: KindRules = {
  defaults: structForm,
  prepareCreate: structForm,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [
    ...check(object),
    ...(equalJson(object['spec'] as Json, live['spec'] as Json) ? [] : [invalidField('spec', null, immutableDetail)]),
  ],
}
