/** The fault simulator on the operator of Installations: install, upgrade, rollback, removal and drift, with every fault. */
import { describe, it } from 'vitest'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap, Job, Service } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { faultGroups } from '../../simulate/faults/fault.ts'
import { openSimulator, type Simulator } from '../../simulate/faults/simulate.ts'
import { operatorSubject } from '../../simulate/faults/subject.ts'
import { installationOperator } from './operator.ts'

const config = (name: string, value: string, wave = 0): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name}, annotations: { platform.muster.dev/wave: "${wave}" } }\ndata: { key: "${value}" }\n`
const service = (port: number): string =>
  `---\napiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: ${port} }] }\n`
const text = (...parts: readonly string[]): JsonObject => ({
  spec: { source: { manifests: { text: parts.join('') } } },
})

const installation = (spec: JsonObject): UntypedObject => ({
  apiVersion: 'platform.muster.dev/v1alpha1',
  kind: 'Installation',
  metadata: { name: 'shop' },
  spec: { ...spec, remediation: { retries: 0 } },
})
const manifests = installation(
  text(config('early', '1', -1), service(80), config('late', '1', 1))['spec'] as JsonObject,
)
// The API server refuses the port: the attempt fails, and the revision before is active again.
const broken = text(config('early', '2', -1), service(99_999), config('late', '2', 1))

/** Each from the installed revision on. */
const scenarios: Readonly<Record<string, readonly JsonObject[]>> = {
  upgrade: [text(config('early', '2', -1), service(80), config('new', '2'))],
  'roll back': [broken],
  'roll back and mend': [broken, text(config('early', '3', -1), service(81), config('late', '3', 1))],
}

const files = {
  'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\n',
  'templates/secret.yaml': `{{- $live := lookup "v1" "Secret" .Release.Namespace "password" }}
apiVersion: v1
kind: Secret
metadata: { name: password }
data: { password: {{ if $live }}{{ $live.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }} }
`,
  'templates/hook.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: before, annotations: { helm.sh/hook: "pre-install,pre-upgrade" } }\n',
}
const added = {
  'templates/more.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: { name: m }\nstringData: { a: {{ uuidv4 }} }\n',
}
const chart = installation({ source: { chart: { files } } })
const chartScenarios = { 'upgrade the chart': [{ spec: { source: { chart: { files: added } } } }] }

/** The account that the simulator names when it varies `spec.serviceAccountName`. */
const account: readonly UntypedObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'walked' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'walked' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'walked', namespace: 'default' }],
  },
]

async function open(
  sample: UntypedObject,
  further: Readonly<Record<string, readonly JsonObject[]>>,
): Promise<Simulator> {
  const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
  const subject = await operatorSubject(() => operator)
  const outputs = [...subject.outputs, ConfigMap, Service, Job]
  const options = { subject: { ...subject, outputs }, sample: [...account, sample], workloads: false }
  return await openSimulator({ ...options, scenarios: further })
}

/**
 * Not meant:
 * - a stored revision that is not the wanted one and that a user deletes or hides: its content cannot be made again. In
 *   the scenario "change" that is the only one, since the changed text is no manifest;
 * - `spec.revision` set later is compared with an Installation that is created with it: it has no such revision, and says so;
 * - `spec.adopt` set later, likewise: the first revision of what is adopted counts as an upgrade, and revisions are immutable.
 */
function isMeant(plan: string): boolean {
  const [scenario = ''] = plan.split(':')
  if (scenario === 'set spec.revision' || scenario.startsWith('set spec.adopt')) return false
  const superseded =
    scenario === 'roll back and mend' ? '[12]' : /^(?:upgrade|roll back)|change$/.test(scenario) ? '1' : '0'
  return !new RegExp(`(?:remove|edit)@\\w+=(?:secrets|revisions\\S*) default/shop-${superseded}\\b`).test(plan)
}

const chartGroups = faultGroups.filter((group) => group !== 'walk')

/**
 * Beside these: hooks are not kept, a record of lookups that a user deletes or hides is made anew from what is found then, and
 * values that a user deletes before any revision has them are generated again. Where the user is faster than the first render
 * another value is generated: random values of the simulator depend on the input.
 */
function isMeantOfChart(plan: string): boolean {
  const isRecord =
    /(?:remove|edit|drift)@\w+=(?:secrets default\/shop-(?:lookups|generated)|configmaps default\/before)/
  return isMeant(plan) && !isRecord.test(plan) && !/edit@\w+=installations|^create and change: hurry/.test(plan)
}

describe('the operator of Installations', () => {
  it(`passes ${howMany} its plans`, async () => {
    await expectToPass(await open(manifests, scenarios), { sample: 12, isMeant })
  }, 900_000)

  it(`passes ${howMany} its plans with hooks, generated values and lookups`, async () => {
    await expectToPass(await open(chart, chartScenarios), { sample: 8, all: chartGroups, isMeant: isMeantOfChart })
  }, 900_000)
})
