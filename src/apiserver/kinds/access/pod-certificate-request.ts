/** PodCertificateRequest: a kubelet requests a certificate for the identity of a pod. */
import { draftOf, fillAbsent, finished, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'

const dayInSeconds = 86_400

export const podCertificateRequestRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(part(draft, 'spec'), { maxExpirationSeconds: dayInSeconds })
    return finished(draft)
  },
}
