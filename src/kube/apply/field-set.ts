/**
 * A set of fields, as a tree that follows the object: the fields that a manager owns, or that a change touched.
 *
 * A node may be in the set itself (`owned`), have fields of the set below it, or both: owning `.spec` says nothing about
 * `.spec.replicas`. Sets are sorted as in the server and immutable, so parts are shared, and an operation without a change
 * returns its left operand.
 */
import { compareElements, fieldElement, type Path, type PathElement } from './path-element.ts'

export interface FieldNode {
  readonly element: PathElement
  readonly owned: boolean
  readonly below: FieldSet
}

/** Sorted, one node per element; every node is owned or has something below it. */
export type FieldSet = readonly FieldNode[]

export const noFields: FieldSet = []

/** The set of the given paths. A plain string is a field name. */
export function fieldSet(...paths: readonly (readonly (string | PathElement)[])[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => union(set, chain(path)), noFields)
}

function chain(path: readonly (string | PathElement)[]): FieldSet {
  return path.reduceRight<FieldSet>((below, step) => {
    const element = typeof step === 'string' ? fieldElement(step) : step
    return [{ element, owned: below.length === 0, below }]
  }, noFields)
}

/** A set of nodes in any order; a repeated element is the union of its nodes. */
export function fieldSetOfNodes(nodes: readonly FieldNode[]): FieldSet {
  for (let at = 1; at < nodes.length; at++) {
    if (compareElements((nodes[at - 1] as FieldNode).element, (nodes[at] as FieldNode).element) >= 0) {
      return mergeRepeated(nodes.toSorted((a, b) => compareElements(a.element, b.element)))
    }
  }
  return nodes
}

function mergeRepeated(sorted: readonly FieldNode[]): FieldSet {
  const out: FieldNode[] = []
  for (const node of sorted) {
    const last = out.at(-1)
    if (last && compareElements(last.element, node.element) === 0) {
      out[out.length - 1] = both(last, node)
    } else {
      out.push(node)
    }
  }
  return out
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a.length === 0) return b
  return combine(a, b, (left, right) => (left && right ? both(left, right) : (left ?? right)))
}

function both(left: FieldNode, right: FieldNode): FieldNode {
  return withContent(left, left.owned || right.owned, union(left.below, right.below)) as FieldNode
}

/** The fields that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (left, right) =>
    left && right ? withContent(left, left.owned && right.owned, intersection(left.below, right.below)) : undefined,
  )
}

/** The fields of `a` that are not in `b`. A field in `b` does not remove those below it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (left, right) =>
    left && right ? withContent(left, left.owned && !right.owned, difference(left.below, right.below)) : left,
  )
}

/** The fields of `a` that are neither in `b` nor below a field in `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (left, right) => {
    if (!left || !right) return left
    return right.owned ? undefined : withContent(left, left.owned, recursiveDifference(left.below, right.below))
  })
}

/** The fields that have no field of the set below them. */
export function leaves(set: FieldSet): FieldSet {
  return transform(set, (node) => withContent(node, node.owned && node.below.length === 0, leaves(node.below)))
}

/** Changes or drops nodes, one by one. */
export function transform(set: FieldSet, change: (node: FieldNode) => FieldNode | undefined): FieldSet {
  return combine(set, noFields, (node) => node && change(node))
}

/** `node` with other content; `undefined` if nothing of it is left in the set. */
export function withContent(node: FieldNode, owned: boolean, below: FieldSet): FieldNode | undefined {
  if (owned === node.owned && below === node.below) return node
  return owned || below.length > 0 ? { element: node.element, owned, below } : undefined
}

/** Walks two sets in parallel, in order. */
function combine(
  a: FieldSet,
  b: FieldSet,
  pick: (left: FieldNode | undefined, right: FieldNode | undefined) => FieldNode | undefined,
): FieldSet {
  const out: FieldNode[] = []
  let changed = false
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    let left = a[i]
    let right = b[j]
    const order = left && right ? compareElements(left.element, right.element) : left ? -1 : 1
    if (order > 0) left = undefined
    else i++
    if (order < 0) right = undefined
    else j++
    const node = pick(left, right)
    if (node) out.push(node)
    if (node !== left) changed = true
  }
  return changed ? out : a
}

export function hasPath(set: FieldSet, path: Path): boolean {
  let at = set
  for (const [depth, element] of path.entries()) {
    const node = nodeAt(at, element)
    if (!node) return false
    if (depth === path.length - 1) return node.owned
    at = node.below
  }
  return false
}

export function nodeAt(set: FieldSet, element: PathElement): FieldNode | undefined {
  let low = 0
  let high = set.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const node = set[middle] as FieldNode
    const order = compareElements(node.element, element)
    if (order === 0) return node
    if (order < 0) low = middle + 1
    else high = middle
  }
  return undefined
}

/** Every path of the set; at each level first the fields themselves, then those below them. */
export function* pathsOf(set: FieldSet, prefix: Path = []): Generator<Path, void, undefined> {
  for (const node of set) if (node.owned) yield [...prefix, node.element]
  for (const node of set) if (node.below.length > 0) yield* pathsOf(node.below, [...prefix, node.element])
}

export function equalFieldSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  return (
    a.length === b.length &&
    a.every((left, at) => {
      const right = b[at] as FieldNode
      return (
        left === right ||
        (left.owned === right.owned &&
          compareElements(left.element, right.element) === 0 &&
          equalFieldSets(left.below, right.below))
      )
    })
  )
}
