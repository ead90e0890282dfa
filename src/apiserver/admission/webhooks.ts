/** The two plugins that ask webhooks. Most clusters have none, and then nothing of it is loaded. */
import type { ClusterState } from '../cluster/state.ts'
import type { StorageTable } from '../storage/storage.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../cluster/admission.ts'
import { isExempt } from '../policy/matching.ts'

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
    return import('./mutating-webhooks.ts').then(({ askOfDeletion }) => askOfDeletion(state, request, table))
  },
}

export const validatingWebhooks: AdmissionPlugin = {
  name: 'ValidatingAdmissionWebhook',
  validate(state, request) {
    const table = state.storage.table(validatingTable)
    return table.size === 0 || isExempt(request) ? undefined : askAll(state, request, table)
  },
}

async function askAll(state: ClusterState, request: AdmissionRequest, table: StorageTable): Promise<void> {
  const { askWebhook: ask, hooksIn, viewFor } = await import('./webhook.ts')
  const concerned = []
  for (const hook of hooksIn(table)) {
    const view = await viewFor(state, request, hook)
    if (view) concerned.push({ hook, view })
  }
  // All are asked at once; the first one to refuse, in their order, has said no.
  const asked = await Promise.allSettled(concerned.map(({ hook, view }) => ask(state, view, hook, false)))
  for (const answer of asked) if (answer.status === 'rejected') throw answer.reason
}
