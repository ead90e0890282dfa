/** The two plugins that call webhooks. Most clusters have no webhooks; then their code is never loaded. */
import type { ClusterState } from '../../cluster/state.ts'
import type { StorageTable } from '../../storage/storage.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../cluster/admission.ts'
import { isExempt } from '../../policy/matching.ts'

const mutatingTable = 'mutatingwebhookconfigurations.admissionregistration.k8s.io'
const validatingTable = 'validatingwebhookconfigurations.admissionregistration.k8s.io'

export const mutatingWebhooks: AdmissionPlugin = {
  name: 'MutatingAdmissionWebhook',
  mutate(state, request) {
    const table = state.storage.table(mutatingTable)
    if (table.size === 0 || isExempt(request)) return request.object
    return import('./mutating-webhooks.ts').then(({ mutateByWebhooks }) => mutateByWebhooks(state, request, table))
  },
  validate(state, request) {
    const table = state.storage.table(mutatingTable)
    if (table.size === 0 || request.object || isExempt(request)) return undefined
    return import('./mutating-webhooks.ts').then(({ callForDeletion }) => callForDeletion(state, request, table))
  },
}

export const validatingWebhooks: AdmissionPlugin = {
  name: 'ValidatingAdmissionWebhook',
  validate(state, request) {
    const table = state.storage.table(validatingTable)
    return table.size === 0 || isExempt(request) ? undefined : callAll(state, request, table)
  },
}

async function callAll(state: ClusterState, request: AdmissionRequest, table: StorageTable): Promise<void> {
  const { callWebhook: call, hooksIn, viewFor } = await import('./webhook.ts')
  const matching = []
  for (const hook of hooksIn(table)) {
    const view = await viewFor(state, request, hook)
    if (view) matching.push({ hook, view })
  }
  // All are called in parallel; of several denials the first, in the order of the webhooks, is reported.
  const outcomes = await Promise.allSettled(matching.map(({ hook, view }) => call(state, view, hook, false)))
  for (const answer of outcomes) if (answer.status === 'rejected') throw answer.reason
}
