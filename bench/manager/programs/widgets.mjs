/**
 * The measured operators, as an author would write them: `widgets.mjs#widget00` and so on. The same in Go is
 * bench/peers/ten-operators. Started directly, `node widgets.mjs N` prints the CRDs of N of them, one a line.
 */
import { hash } from 'node:crypto'
import {
  ConfigMap,
  defineController,
  defineKind,
  defineOperator,
  defineDependent,
  Deployment,
  integer,
  Node,
  optional,
  Secret,
  string,
} from '@muster-dev/muster/operator'

/** `Widget00`, `Widget01` and so on: one kind and one operator for each number. */
function widgetOperator(number) {
  const kind = `Widget${String(number).padStart(2, '0')}`
  const Widget = defineKind({
    group: 'bench.muster.dev',
    version: 'v1',
    kind,
    spec: { replicas: integer({ minimum: 0 }), value: string(), secretName: string() },
    status: { nodes: optional(integer()) },
  })

  const config = defineDependent({
    for: Widget,
    kind: ConfigMap,
    fromCR: ({ cr, view }) => ({
      data: { value: cr.spec.value, token: fingerprint(cr, view), nodes: String(view.list(Node).length) },
    }),
  })

  const deployment = defineDependent({
    for: Widget,
    kind: Deployment,
    initial: {
      spec: { template: { spec: { containers: [{ name: 'widget', image: 'registry.example.com/widget:1' }] } } },
    },
    fromCR: ({ cr }) => ({
      spec: {
        replicas: cr.spec.replicas,
        selector: { matchLabels: { widget: cr.metadata.name } },
        template: {
          metadata: { labels: { widget: cr.metadata.name } },
          spec: { containers: [{ name: 'widget', envFrom: [{ configMapRef: { name: cr.metadata.name } }] }] },
        },
      },
    }),
  })

  const controller = defineController({
    for: Widget,
    dependents: [config, deployment],
    reads: [Secret, Node],
    status({ cr, view }) {
      note(`${kind} ${cr.metadata.name}`)
      return { nodes: view.list(Node).length }
    },
  })
  return defineOperator({ name: kind.toLowerCase(), controllers: [controller] })
}

function fingerprint({ metadata, spec }, view) {
  const secret = view.get(Secret, { namespace: metadata.namespace, name: spec.secretName })
  const token = Buffer.from(secret?.data?.token ?? '', 'base64')
  return hash('sha256', token).slice(0, 16)
}

const expected = Number(process.env.BENCH_EXPECT ?? 0)
let seen = new Set()

/** Prints one line when so many different CRs have been reconciled. */
function note(cr) {
  if (seen.add(cr).size < expected) return
  console.log(JSON.stringify({ reconciled: seen.size }))
  // The line has been printed; nothing is counted any more.
  seen = { add: () => ({ size: -1 }) }
}

const most = 50
const operators = Array.from({ length: most }, (_, number) => widgetOperator(number))
export const [
  widget00,
  widget01,
  widget02,
  widget03,
  widget04,
  widget05,
  widget06,
  widget07,
  widget08,
  widget09,
  widget10,
  widget11,
  widget12,
  widget13,
  widget14,
  widget15,
  widget16,
  widget17,
  widget18,
  widget19,
  widget20,
  widget21,
  widget22,
  widget23,
  widget24,
  widget25,
  widget26,
  widget27,
  widget28,
  widget29,
  widget30,
  widget31,
  widget32,
  widget33,
  widget34,
  widget35,
  widget36,
  widget37,
  widget38,
  widget39,
  widget40,
  widget41,
  widget42,
  widget43,
  widget44,
  widget45,
  widget46,
  widget47,
  widget48,
  widget49,
] = operators

if (import.meta.main) {
  for (const { kinds } of operators.slice(0, Number(process.argv[2]))) {
    for (const kind of kinds) console.log(JSON.stringify(kind.crd()))
  }
}
