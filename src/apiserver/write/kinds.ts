/** The rules of all built-in kinds, by the table their objects are stored in: `deployments.apps`. */
import { crdTable, definitionRules } from '../crd/definition-rules.ts'
import { clusterKinds } from './cluster-kinds.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { workloadKinds } from './workload-kinds.ts'

const rules: ReadonlyMap<string, KindRules> = new Map([...workloadKinds, ...clusterKinds, [crdTable, definitionRules]])
const none: KindRules = {}

export function rulesOf(table: string): KindRules {
  return rules.get(table) ?? none
}
