/** Writes what its view shows of the Pods and Secrets, of which it reads some fields: the same at every level, live and offline. */
import {
  ConfigMap,
  defineController,
  defineDependent,
  defineKind,
  defineOperator,
  fields,
  type Kind,
  labelled,
  type Operator,
  Pod,
  Secret,
} from '../src/operator/index.ts'

export const Shown: Kind = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Shown', spec: {} })

/** Without values that differ between clusters. */
const stable = ({ metadata, ...rest }: { readonly metadata: { readonly name: string; readonly labels?: object } }) => ({
  name: metadata.name,
  labels: metadata.labels ?? {},
  ...rest,
})

const shown = defineDependent({
  for: Shown,
  kind: ConfigMap,
  fromCR: ({ view }) => ({
    data: { pods: JSON.stringify(view.list(Pod).map(stable)), secrets: JSON.stringify(view.list(Secret).map(stable)) },
  }),
})

export const operator: Operator = defineOperator({
  name: 'projected',
  controllers: [
    defineController({
      for: Shown,
      dependents: [shown],
      reads: [
        fields(Pod, ['spec.nodeName', 'spec.containers.image', 'status.phase']),
        labelled(Pod, { labels: { detail: 'whole' } }),
        fields(labelled(Secret, { labels: { owner: 'helm' } }), []),
      ],
    }),
  ],
})
