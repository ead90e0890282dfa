/** Waves: objects of a wave are applied when all of the waves before are healthy. Most objects have no annotation: wave 0. */
import { kindOf } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { platformErrors } from '../errors.ts'

/** Ours wins over the one of Argo CD. */
const waveAnnotations = ['platform.muster.dev/wave', 'argocd.argoproj.io/sync-wave']

/** @throws InvalidWave */
export function waveOf(object: KubeObject): number {
  const { annotations = {}, name = '', namespace } = object.metadata
  const annotation = waveAnnotations.find((one) => Object.hasOwn(annotations, one))
  if (annotation === undefined) return 0
  const text = annotations[annotation]
  if (typeof text === 'string' && /^[+-]?\d{1,9}$/.test(text)) return Number(text)
  const place = `${kindOf(object).kind} ${namespace ? `${namespace}/` : ''}${name}`
  throw new MusterError(
    platformErrors.InvalidWave,
    `${place}: the annotation ${annotation} must be an integer of at most nine digits.`,
  )
}
