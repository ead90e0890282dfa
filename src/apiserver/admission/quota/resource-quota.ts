/**
 * ResourceQuota: limits what a namespace may hold. It runs last, right before an object is stored: the usage that it
 * checks must be that of the storage.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  makeQuantity,
  parseQuantity,
  type Quantity,
  signOfQuantity,
  subtractQuantities,
} from '../../../kube/units/quantity.ts'
import type { ResourceQuota } from '../../../kube/types/core/v1.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../cluster/admission.ts'
import { quotaTable } from './quota-ledger.ts'
import { type Amounts, quotaCovers, isInScope, isTerminating, missingResources, usageOf } from './quota-usage.ts'

export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',
  settle(state, request) {
    const { object, namespace, served, name } = request
    const quotas = state.storage.table(quotaTable)
    const ledger = quotas.size === 0 ? undefined : state.quotas
    if (!ledger || !object || namespace === undefined || !isCounted(request)) return
    for (const quota of quotas.objects(namespace)) {
      const { hard = {} } = (quota as unknown as ResourceQuota).spec ?? {}
      const names = Object.keys(hard).filter((one) => quotaCovers(one, served.table))
      if (names.length === 0 || !isInScope(quota, served.table, object)) continue
      const quotaName = quota.metadata.name
      const missing = served.table === 'pods' ? missingResources(object, names) : undefined
      if (missing !== undefined) throw forbidden(served, name, `failed quota: ${quotaName}: ${missing}`)
      const used = ledger.usedOf(quota)
      const requested = requestedOf(request, object, quota)
      const exceeded = names.filter((one) => {
        const more = requested.get(one)
        const sum = more && addQuantities(used.get(one) ?? makeQuantity(0), more)
        return sum && compareQuantities(sum, parseQuantity(hard[one]!)) > 0
      })
      if (exceeded.length === 0) continue
      const shown = (amounts: (one: string) => Quantity): string =>
        exceeded
          .toSorted()
          .map((one) => `${one}=${formatQuantity(amounts(one))}`)
          .join(',')
      const parts = [
        `requested: ${shown((one) => requested.get(one)!)}`,
        `used: ${shown((one) => used.get(one) ?? makeQuantity(0))}`,
        `limited: ${shown((one) => parseQuantity(hard[one]!))}`,
      ]
      throw forbidden(served, name, `exceeded quota: ${quotaName}, ${parts.join(', ')}`)
    }
  },
}

/** Whether this write can increase the usage. */
function isCounted({ served, operation, subresource, object, oldObject }: AdmissionRequest): boolean {
  if (subresource !== '') return served.table === 'pods' && subresource === 'resize' && operation === 'UPDATE'
  if (operation === 'CREATE') return true
  if (operation !== 'UPDATE') return false
  if (served.table === 'pods') return isTerminating(object) !== isTerminating(oldObject)
  return served.table === 'services' || served.table === 'persistentvolumeclaims'
}

/** The increase in usage; a decrease is not credited here. */
function requestedOf({ served, oldObject }: AdmissionRequest, object: UntypedObject, quota: UntypedObject): Amounts {
  const before =
    oldObject && isInScope(quota, served.table, oldObject)
      ? usageOf(served.table, oldObject)
      : new Map<string, Quantity>()
  const more = [...usageOf(served.table, object)].map(([name, amount]) => {
    const known = before.get(name)
    return [name, known ? subtractQuantities(amount, known) : amount] as const
  })
  return new Map(more.filter(([, amount]) => !isZeroQuantity(amount) && signOfQuantity(amount) > 0))
}
