/**
 * Asks the server about quantities, in three places that read and write them: the capacity of a ResourceSlice (any
 * quantity, written back in canonical form), CEL in an admission policy (sign, integer, order, arithmetic), and the quota
 * admission (which adds up the requests of a pod's containers and writes the total into its refusal).
 */
import {
  type QuantityArithmeticVector,
  type QuantityOrderVector,
  type QuantityTotalVector,
  type QuantityVector,
  quantityArithmetic,
  quantityOrder,
  quantityTexts,
  quantityTotals,
} from '../../vectors/cases/quantities.ts'
import type { Api } from '../api.ts'
import { type Recorder, createNamespace, mapInTurns } from './recorder.ts'

export const quantityRecorder: Recorder<QuantityVector> = {
  set: 'quantities',
  async record(api) {
    const ask = await celOf(
      api,
      'quantity-readings',
      'isQuantity(variables.data.text) ? string(sign(quantity(variables.data.text))) + " " + ' +
        '(quantity(variables.data.text).isInteger() ? string(quantity(variables.data.text).asInteger()) : "none") : "invalid"',
    )
    return await mapInTurns([...new Set(quantityTexts)], async (text): Promise<QuantityVector> => {
      const answer = await readBack(api, text)
      const [sign = '', integer = ''] = (await ask({ text })).split(' ')
      return {
        name: JSON.stringify(text),
        text,
        ...(answer === undefined ? {} : { answer }),
        ...(sign === 'invalid' ? {} : { cel: { sign: Number(sign), integer: integer === 'none' ? null : integer } }),
      }
    })
  },
}

export const quantityOrderRecorder: Recorder<QuantityOrderVector> = {
  set: 'quantity-order',
  async record(api) {
    const ask = await celOf(
      api,
      'quantity-order',
      'variables.data.others.split(" ").map(x, string(quantity(variables.data.text).compareTo(quantity(x)))).join(" ")',
    )
    return await mapInTurns(quantityOrder, async (text): Promise<QuantityOrderVector> => {
      const signs = (await ask({ text, others: quantityOrder.join(' ') })).split(' ').map(Number)
      return { name: text, text, others: quantityOrder, signs }
    })
  },
}

export const quantityArithmeticRecorder: Recorder<QuantityArithmeticVector> = {
  set: 'quantity-arithmetic',
  async record(api) {
    const ask = await celOf(
      api,
      'quantity-arithmetic',
      ['add sum', 'sub difference']
        .map((words) => words.split(' '))
        .map(
          ([call, result]) =>
            `string(quantity(variables.data.a).${call}(quantity(variables.data.b)).compareTo(quantity(variables.data.${result})) == 0)`,
        )
        .join(' + " " + '),
    )
    return await mapInTurns(quantityArithmetic, async (given): Promise<QuantityArithmeticVector> => {
      const [sumHolds, differenceHolds] = (await ask({ ...given })).split(' ').map((word) => word === 'true')
      const name = `${given.a} and ${given.b} make ${given.sum} and ${given.difference}`
      return { name, ...given, sumHolds: sumHolds ?? false, differenceHolds: differenceHolds ?? false }
    })
  },
}

export const quantityTotalRecorder: Recorder<QuantityTotalVector> = {
  set: 'quantity-totals',
  async record(api) {
    const namespace = 'quantity-totals'
    await createNamespace(api, namespace)
    const hard = { 'requests.cpu': '0' }
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard } }
    const at = `/api/v1/namespaces/${namespace}`
    await api.must('POST', `${at}/resourcequotas`, { body: quota })
    // A controller would copy the limits into the status, where admission looks for them.
    await api.must('PUT', `${at}/resourcequotas/none/status`, { body: { ...quota, status: { hard, used: hard } } })
    return await mapInTurns(quantityTotals, async ([a, b]): Promise<QuantityTotalVector> => {
      const containers = [a, b].map((cpu, index) => ({
        name: `c${index}`,
        image: 'i',
        resources: { requests: { cpu } },
      }))
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers } }
      const { message } = await api.call('POST', `${at}/pods`, { body: pod, query: { dryRun: 'All' } })
      const total = /requested: requests\.cpu=(\S+), used/.exec(message)?.[1]
      if (total === undefined) throw new Error(`no total of ${a} and ${b} in: ${message}`)
      return { name: `${a} + ${b}`, a, b, total }
    })
  },
}

async function readBack(api: Api, value: string): Promise<string | undefined> {
  const { status, body } = await api.call('POST', '/apis/resource.k8s.io/v1/resourceslices', {
    query: { dryRun: 'All' },
    body: {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: 'quantities' },
      spec: {
        driver: 'quantities.muster.test',
        nodeName: 'node',
        pool: { name: 'pool', resourceSliceCount: 1, generation: 1 },
        devices: [{ name: 'device', capacity: { size: { value } } }],
      },
    },
  })
  if (status !== 201) return undefined
  const { spec } = body as unknown as {
    readonly spec: { readonly devices: readonly [{ readonly capacity: { readonly size: { readonly value: string } } }] }
  }
  return spec.devices[0].capacity.size.value
}

/**
 * CEL as a calculator: an admission policy that refuses every ConfigMap of one namespace, with what `expression`
 * yields (of `data`) as its message.
 */
async function celOf(
  api: Api,
  name: string,
  expression: string,
): Promise<(data: Readonly<Record<string, string>>) => Promise<string>> {
  const admission = '/apis/admissionregistration.k8s.io/v1'
  await createNamespace(api, name)
  await api.must('POST', `${admission}/validatingadmissionpolicies`, {
    body: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        },
        variables: [{ name: 'data', expression: 'object.data' }],
        validations: [{ expression: 'false', messageExpression: `"<" + (${expression}) + ">"` }],
      },
    },
  })
  await api.must('POST', `${admission}/validatingadmissionpolicybindings`, {
    body: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  })
  return async (data) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'question' }, data }
    // The policy takes a moment to be in force; until then the ConfigMap is let through.
    for (let tries = 0; tries < 600; tries++) {
      const { status, message } = await api.call('POST', `/api/v1/namespaces/${name}/configmaps`, {
        body: object,
        query: { dryRun: 'All' },
      })
      const result = /<(.*)>$/.exec(message)?.[1]
      if (result !== undefined) return result
      if (status !== 201) throw new Error(`${JSON.stringify(data)}: ${message}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`the policy ${name} did not come into force`)
  }
}
