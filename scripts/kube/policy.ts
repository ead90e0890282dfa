/**
 * The RBAC policy that an API server creates at its first start, as the table that the embedded server starts from:
 *
 *     node scripts/kube/policy.ts --server URL       from a running API server (through `kubectl proxy`)
 *
 * Fields that all default objects have in common (label, annotation, API group) are left out; one object a line. The
 * file is named after the server's version. Existing files are never overwritten: stored clusters depend on them.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { aggregatedRules } from '../../src/apiserver/controllers/role-aggregation.ts'
import type { UntypedObject } from '../../src/kube/object.ts'

interface DefaultObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly rules?: readonly object[]
  readonly aggregationRule?: object
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
}

const defaultLabel = 'kubernetes.io/bootstrapping'

/** One object without the common fields. */
function compact({ metadata, rules, aggregationRule, roleRef, subjects }: DefaultObject): object {
  const { [defaultLabel]: _default, ...labels } = metadata.labels
  return {
    name: metadata.name,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(aggregationRule && { aggregationRule }),
    ...(rules && { rules }),
    ...(roleRef && { roleRef: { kind: roleRef.kind, name: roleRef.name } }),
    ...(subjects && {
      subjects: subjects.map(({ kind, name, namespace }) => ({
        kind,
        name,
        ...(namespace !== undefined && { namespace }),
      })),
    }),
  }
}

/** The server leaves aggregation to a controller, which may not run beside it. */
function gathered(roles: readonly DefaultObject[]): readonly DefaultObject[] {
  const rules = aggregatedRules(roles as unknown as readonly UntypedObject[])
  return roles.map((role) => ({ ...role, rules: rules.get(role.metadata.name) ?? role.rules ?? [] }))
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { server: { type: 'string' } } })
  if (values.server === undefined) throw new Error('say where: --server URL')
  const tables: string[] = []
  for (const plural of ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings']) {
    const query = new URLSearchParams({ labelSelector: `${defaultLabel}=rbac-defaults` }).toString()
    const answer = await fetch(new URL(`/apis/rbac.authorization.k8s.io/v1/${plural}?${query}`, values.server))
    const { items } = (await answer.json()) as { readonly items: readonly DefaultObject[] }
    const lines = (plural === 'clusterroles' ? gathered(items) : items).map((item) => JSON.stringify(compact(item)))
    tables.push(`${JSON.stringify(plural)}: [\n${lines.join(',\n')}\n]`)
  }
  const { gitVersion } = (await (await fetch(new URL('/version', values.server))).json()) as { gitVersion: string }
  const name = `../../src/apiserver/bootstrap/bootstrap-policy/${gitVersion}.json`
  const file = fileURLToPath(new URL(name, import.meta.url))
  writeFileSync(file, `{\n${tables.join(',\n')}\n}\n`, { flag: 'wx' })
}

if (import.meta.main) await main()
