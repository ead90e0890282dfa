/** PodCertificateRequest: a kubelet asks for a certificate by which a pod proves who it is. */
import { draftOf, fillAbsent, finished, part } from './draft.ts'
import type { KindRules } from './kind-rules.ts'

const dayInSeconds = 86_400

export const podCertificateRequestRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(part(draft, 'spec'), { maxExpirationSeconds: dayInSeconds })
    return finished(draft)
  },
}
