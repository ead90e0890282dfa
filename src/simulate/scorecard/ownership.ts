/** Rules about field ownership: drift of its own fields is corrected, fields of other managers are kept. */
import { formatPath, type Path } from '../../kube/apply/path-element.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { inHashScope } from '../../operator/dependent/scope.ts'
import { changeField, type EditKind, editsOf, isKept, locate, ownedFields, writeField } from './change.ts'
import {
  count,
  declarationOf,
  type Examination,
  failed,
  isLeftAlone,
  named,
  passed,
  type Rule,
  some,
  Unexamined,
} from './examination.ts'
import type { Child, ScorecardCluster } from './scorecard-cluster.ts'
import { type ChanceValue, chanceBetween, snapshotOf } from './cluster-snapshot.ts'
import { isSameTarget, isWriteRequest, requestKey } from './request.ts'

export const drift: Rule = {
  name: 'restores drift',
  asks: 'each owned field that another field manager changes, empties or removes is corrected with one write',
  async run(examination) {
    const cluster = await examination.atRest()
    const problems: string[] = []
    let restored = 0
    let edits = 0
    let fixed = 0
    let drawn = 0
    let chance: ChanceValue | undefined
    for (const child of await cluster.children()) {
      for (const path of keptFields(cluster, child)) {
        const outcomes: string[] = []
        for (const edit of editsOf(path)) outcomes.push(await disturb(cluster, child, path, edit))
        const bad = outcomes.filter((outcome) => outcome !== 'restored' && outcome !== 'unchangeable')
        if (bad.length > 0 && (chance ??= await chanceOf(examination)).has(placeOf(child, path))) {
          drawn++
          continue
        }
        problems.push(...bad)
        edits += outcomes.filter((outcome) => outcome === 'restored').length
        if (outcomes.every((outcome) => outcome === 'unchangeable')) fixed++
        else if (bad.length === 0) restored++
      }
    }
    if (problems.length > 0) return failed(some(problems))
    if (restored === 0) throw new Unexamined('it makes nothing that anybody could change')
    const note = [
      ...(fixed > 0 ? [`; ${count(fixed, 'other')} cannot be changed`] : []),
      ...(drawn > 0 ? [`; ${count(drawn, 'other')} drawn once and kept as found`] : []),
    ].join('')
    return passed(
      `${count(restored, 'field')} changed, emptied and removed one by one, ${count(edits, 'edit')}, each put right with one write${note}`,
    )
  },
}

/** Random values. If a value was generated once and is read back from the object, no operator could restore it. */
async function chanceOf(examination: Examination): Promise<ChanceValue> {
  const [one, other] = [await examination.atRest(), await examination.atRest(2)]
  return chanceBetween(await snapshotOf(one), await snapshotOf(other))
}

/** The key of a field in a snapshot. */
function placeOf(child: Child, path: Path): string {
  return `${requestKey(child)} ${path.map((element) => (element.kind === 'field' ? `.${element.name}` : '[]')).join('')}`
}

/** Fields of a child that the operator must correct: it owns them, and its scope includes them. */
function keptFields(cluster: ScorecardCluster, child: Child): readonly Path[] {
  if (isLeftAlone(cluster, child)) return []
  const scope = declarationOf(cluster, child)?.scope ?? {}
  const kept = inHashScope(child.object as unknown as JsonObject, scope)
  return ownedFields(child.object, cluster.operator.name).filter((path) => locate(kept, path) !== undefined)
}

async function disturb(cluster: ScorecardCluster, child: Child, path: Path, edit: EditKind): Promise<string> {
  const { client } = cluster
  const now = await cluster.find(child)
  if (!now) return `${named(child)} is gone`
  const before = cluster.requests.length
  const changed = await changeField(client, child, now, path, edit)
  if (!changed) return 'unchangeable'
  const place = `${named(child)} ${formatPath(path)}`
  if (!(await cluster.rest())) return `${place}: it never rests after a change`
  const after = await cluster.find(child)
  const is = after && locate(after as unknown as Json, path)?.value
  // The server may default new values in a restored item.
  const isItem = path.at(-1)?.kind !== 'field'
  if (isItem ? is === undefined : !isKept(changed.before, is)) {
    if (after) await writeField(client, child, after, path, changed.before)
    await cluster.rest()
    return `${place} stays at ${text(is)}, where ${text(changed.before)} was wanted`
  }
  // Without its label the operator takes the object for missing: the refused creation writes nothing.
  const writes = cluster.requests
    .slice(before)
    .filter((request) => isWriteRequest(request) && request.status !== 409)
    .filter(({ target }) => target && isSameTarget(target, child))
  return writes.length === 1 ? 'restored' : `${place} was put right with ${count(writes.length, 'write')}`
}

function text(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

export const foreign: Rule = {
  name: 'keeps foreign fields',
  asks: 'fields of other field managers are kept, at rest and after its own writes',
  async run(examination) {
    const cluster = await examination.atRest()
    const problems: string[] = []
    let kept = 0
    for (const child of await cluster.children()) {
      const now = (await cluster.find(child)) ?? child.object
      const added = await inject(cluster, child, additionsTo(now))
      if (!added) continue
      const before = cluster.requests.length
      await cluster.rest()
      const writes = cluster.requests
        .slice(before)
        .filter((request) => isWriteRequest(request) && request.target && isSameTarget(request.target, child))
      if (writes.length > 0) problems.push(`${named(child)} was written because another client added to it`)
      const lost = await missingFrom(cluster, child, added)
      await provoke(cluster, child)
      const lostLater = lost.length > 0 ? lost : await missingFrom(cluster, child, added)
      if (lostLater.length > 0) problems.push(`${named(child)} lost ${lostLater.join(', ')}`)
      else kept += Object.keys(added).length
    }
    if (problems.length > 0) return failed(some(problems))
    if (kept === 0) throw new Unexamined('it makes nothing that anybody could add to')
    return passed(`${count(kept, 'addition')} of another manager are still there after its own next write`)
  },
}

/** Parts of the object that another manager applies, by name. */
type Additions = Readonly<Record<string, JsonObject>>

function additionsTo(object: UntypedObject): Additions {
  const { data, spec } = object
  const template = isJsonObject(spec) ? spec['template'] : undefined
  const pod = isJsonObject(template) ? template['spec'] : undefined
  const hasContainers = isJsonObject(pod) && isJsonArray(pod['containers'])
  return {
    'a label': { metadata: { labels: { 'somebody.example.com/label': 'added' } } },
    'an annotation': { metadata: { annotations: { 'somebody.example.com/note': 'added' } } },
    ...(isJsonObject(data) && { 'an entry of its data': { data: { 'somebody.added': 'YWRkZWQ=' } } }),
    ...(hasContainers && {
      'a container': {
        spec: { template: { spec: { containers: [{ name: 'somebody-added', image: 'example.com/added:1' }] } } },
      },
      'an annotation of its pods': {
        spec: { template: { metadata: { annotations: { 'somebody.example.com/note': 'added' } } } },
      },
    }),
  }
}

/** The additions that the server accepted; undefined if none. */
async function inject(cluster: ScorecardCluster, child: Child, additions: Additions): Promise<Additions | undefined> {
  const { apiVersion, kind } = child.object
  const { resource, name, namespace } = child
  const taken: Record<string, JsonObject> = {}
  for (const [called, part] of Object.entries(additions)) {
    const metadata = {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(part['metadata'] as object | undefined),
    }
    const object = { apiVersion, kind, ...part, metadata } as unknown as UntypedObject
    try {
      await cluster.client.apply(resource, object, { fieldManager: `somebody-${Object.keys(taken).length}` })
      taken[called] = part
    } catch {
      // An immutable object, or one of another shape: no addition to lose.
    }
  }
  return Object.keys(taken).length > 0 ? taken : undefined
}

async function missingFrom(cluster: ScorecardCluster, child: Child, additions: Additions): Promise<readonly string[]> {
  const now = await cluster.find(child)
  return Object.entries(additions).flatMap(([called, part]) => (holds((now ?? null) as Json, part) ? [] : [called]))
}

/** Whether `value` contains `part`; list items in any position. */
function holds(value: Json | undefined, part: Json): boolean {
  if (isJsonArray(part)) {
    return part.every((item) => isJsonArray(value) && value.some((other) => holds(other, item)))
  }
  if (!isJsonObject(part)) return equalJson(value ?? null, part)
  return isJsonObject(value) && Object.keys(part).every((name) => holds(value[name], part[name]!))
}

/** Makes the operator write the child, by an edit of its first editable field. */
async function provoke(cluster: ScorecardCluster, child: Child): Promise<void> {
  for (const path of keptFields(cluster, child)) {
    const now = await cluster.find(child)
    if (!now) return
    if (await changeField(cluster.client, child, now, path, 'change')) break
  }
  await cluster.rest()
}
