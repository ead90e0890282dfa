/** The plugins that evaluate admission policies. Most clusters have no policies; then their code is never loaded. */
import type { AdmissionPlugin } from '../../cluster/admission.ts'
import { isExempt } from '../../policy/matching.ts'

const mutatingBindings = 'mutatingadmissionpolicybindings.admissionregistration.k8s.io'
const validatingBindings = 'validatingadmissionpolicybindings.admissionregistration.k8s.io'

export const mutatingPolicies: AdmissionPlugin = {
  name: 'MutatingAdmissionPolicy',
  mutate(state, request) {
    // Reviews, scales and the like have no schema here to merge an apply configuration by.
    const isOther = request.kind !== undefined || isExempt(request)
    if (isOther || state.storage.table(mutatingBindings).size === 0) return request.object
    return import('./mutating-policy.ts').then(({ mutateByPolicies }) => mutateByPolicies(state, request))
  },
}

export const validatingPolicies: AdmissionPlugin = {
  name: 'ValidatingAdmissionPolicy',
  validate(state, request) {
    if (state.storage.table(validatingBindings).size === 0 || isExempt(request)) return undefined
    return import('./validating-policy.ts').then(({ checkPolicies }) => checkPolicies(state, request))
  },
}
