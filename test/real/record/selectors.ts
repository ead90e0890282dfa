/** Lists ConfigMaps by label selector and Pods by field selector. */
import type { KubeList } from '../../../src/kube/object.ts'
import {
  type SelectorVector,
  fieldSelectors,
  labelSelectors,
  labelledObjects,
  selectedPods,
} from '../../vectors/cases/selectors.ts'
import type { Api } from '../api.ts'
import { type Recorder, createNamespace, mapInTurns } from './recorder.ts'

export const labelSelectorRecorder: Recorder<SelectorVector> = {
  set: 'label-selectors',
  async record(api) {
    const namespace = 'label-selectors'
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    await createNamespace(api, namespace)
    for (const [name, labels] of Object.entries(labelledObjects))
      await api.must('POST', path, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } } })
    return await mapInTurns(labelSelectors, (selector) => select(api, path, 'labelSelector', selector))
  },
}

export const fieldSelectorRecorder: Recorder<SelectorVector> = {
  set: 'field-selectors',
  async record(api) {
    const namespace = 'field-selectors'
    const path = `/api/v1/namespaces/${namespace}/pods`
    await createNamespace(api, namespace)
    for (const pod of selectedPods) await api.must('POST', path, { body: pod })
    return await mapInTurns(fieldSelectors, (selector) => select(api, path, 'fieldSelector', selector))
  },
}

async function select(api: Api, path: string, parameter: string, selector: string): Promise<SelectorVector> {
  const { status, body, message } = await api.call('GET', path, { query: { [parameter]: selector } })
  if (status !== 200) {
    const unknown = message.includes('field label not supported')
    return { name: JSON.stringify(selector), selector, ...(unknown ? { unknownField: true } : {}) }
  }
  const { items } = body as unknown as KubeList
  const matches = items.map(({ metadata }) => metadata.name ?? '').toSorted()
  return { name: JSON.stringify(selector), selector, matches }
}
