/** Tries every text in every place, with a dry run. */
import { type NamePlace, type NameVector, namePlaces, nameTexts } from '../../vectors/cases/names.ts'
import type { Api } from '../api.ts'
import { type Recorder, mapInTurns } from './recorder.ts'

export const nameRecorder: Recorder<NameVector> = {
  set: 'names',
  async record(api) {
    return await mapInTurns([...new Set(nameTexts)], async (text): Promise<NameVector> => {
      const accepted: NamePlace[] = []
      for (const place of namePlaces) if (await accepts(api, place, text)) accepted.push(place)
      return { name: JSON.stringify(text), text, accepted }
    })
  },
}

interface Attempt {
  readonly path: string
  readonly body: unknown
}

async function accepts(api: Api, place: NamePlace, text: string): Promise<boolean> {
  const { path, body } = places[place](text)
  const { status } = await api.call('POST', path, { body, query: { dryRun: 'All' } })
  // A name that is already taken has the right form.
  return status === 201 || status === 409
}

const configMap = (metadata: object, rest: object = {}): Attempt => ({
  path: '/api/v1/namespaces/default/configmaps',
  body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...rest },
})

const pod = (container: object): Attempt => ({
  path: '/api/v1/namespaces/default/pods',
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'x' },
    spec: { containers: [{ name: 'main', image: 'image', ...container }] },
  },
})

const places: Readonly<Record<NamePlace, (text: string) => Attempt>> = {
  subdomain: (name) => configMap({ name }),
  label1123: (name) => ({
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  }),
  service: (name) => ({
    path: '/api/v1/namespaces/default/services',
    body: { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { clusterIP: 'None', ports: [{ port: 80 }] } },
  }),
  pathSegment: (name) => ({
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name } },
  }),
  generateName: (generateName) => configMap({ generateName }),
  portName: (name) => pod({ ports: [{ name, containerPort: 80 }] }),
  labelKey: (key) => configMap({ name: 'x', labels: { [key]: 'v' } }),
  labelValue: (value) => configMap({ name: 'x', labels: { key: value } }),
  annotationKey: (key) => configMap({ name: 'x', annotations: { [key]: 'v' } }),
  finalizer: (text) => configMap({ name: 'x', finalizers: [text] }),
  configMapKey: (key) => configMap({ name: 'x' }, { data: { [key]: 'v' } }),
  envVar: (name) => pod({ env: [{ name, value: 'v' }] }),
  apiGroup: (group) => ({
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    },
  }),
}
