/**
 * How the time of a backtracking engine grows with the text, from the expression alone and without a clock.
 *
 * Each atom of the expression is a state; an edge leads to each atom that may follow. When a match fails, the engine
 * tries every path through these states. Two different paths from a state to itself over the same text double with each
 * round: exponential time. A path from one loop into another over a text that both loops accept is taken at each
 * position of the text: at least quadratic time. (Weber and Seidl, "On the degree of ambiguity of finite automata",
 * 1991.)
 *
 * The engine starts again at each position of the text, which is one more loop in front. A state after which the match
 * has succeeded does not count: there, the engine tries no other path.
 */
import { parsePattern, type Pattern } from './pattern.ts'

export type Growth = 'linear' | 'quadratic' | 'exponential' | 'unknown'

/** Characters that distinguish the classes of our expressions. */
const characters = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCodePoint(code)),
  ...Array.from('\u{85}\u{a0}µμéЯ\u{301}٣\u{2003}\u{2028}\u{2029}\u{3000}\u{feff}€—\u{1f600}\u{fffe}\u{d800}'),
]

/** Atoms that match only the ends of a text. */
const startMark = characters.length
const endMark = characters.length + 1
const symbolCount = characters.length + 2

interface State {
  readonly accepts: ReadonlySet<number>
  /** The number of paths to each next state. */
  readonly next: Map<number, number>
}

interface Fragment {
  readonly first: readonly number[]
  readonly last: readonly number[]
  readonly isEmpty: boolean
  /** Those of `last` after which no condition can fail. */
  readonly sure: readonly number[]
  /** Empty, and without a condition. */
  readonly isFree: boolean
}

export function growthOf({ source, flags }: Pick<RegExp, 'source' | 'flags'>): Growth {
  const graph = buildGraph(parsePattern(source, flags), flags)
  if (!graph) return 'unknown'
  if (isExponential(graph)) return 'exponential'
  return isQuadratic(graph) ? 'quadratic' : 'linear'
}

function buildGraph(pattern: Pattern, flags: string): readonly State[] | undefined {
  const states: State[] = []
  let isKnown = true
  const add = (accepts: ReadonlySet<number>): Fragment => {
    states.push({ accepts, next: new Map() })
    const own = [states.length - 1]
    return { first: own, last: own, isEmpty: false, sure: own, isFree: false }
  }
  const link = (from: readonly number[], to: readonly number[]): void => {
    for (const a of from) for (const b of to) states[a]!.next.set(b, (states[a]!.next.get(b) ?? 0) + 1)
  }
  const join = (left: Fragment, right: Fragment): Fragment => {
    link(left.last, right.first)
    return {
      first: left.isEmpty ? [...left.first, ...right.first] : left.first,
      last: right.isEmpty ? [...left.last, ...right.last] : right.last,
      isEmpty: left.isEmpty && right.isEmpty,
      sure: right.isFree ? [...left.sure, ...right.sure] : right.sure,
      isFree: left.isFree && right.isFree,
    }
  }
  const optional = (body: Fragment): Fragment => ({ ...body, isEmpty: true, isFree: true })
  const nothing: Fragment = { first: [], last: [], isEmpty: true, sure: [], isFree: true }
  const condition: Fragment = { ...nothing, isFree: false }
  const loop = (body: Fragment): Fragment => {
    link(body.last, body.first)
    return body
  }

  const build = (part: Pattern): Fragment => {
    switch (part.type) {
      case 'atom':
        return add(acceptedBy(part.source, flags))
      case 'start':
        return add(new Set([startMark]))
      case 'end':
        return add(new Set([endMark]))
      case 'boundary':
      case 'line':
        return condition
      case 'reference':
        isKnown = false
        return condition
      case 'sequence':
        return part.parts.map(build).reduce(join, nothing)
      case 'choice': {
        const options = part.options.map(build)
        return {
          first: options.flatMap(({ first }) => first),
          last: options.flatMap(({ last }) => last),
          isEmpty: options.some(({ isEmpty }) => isEmpty),
          sure: options.flatMap(({ sure }) => sure),
          isFree: options.some(({ isFree }) => isFree),
        }
      }
      case 'look': {
        const body = build(part.body)
        if (part.isBehind) {
          if (hasLoop(part.body)) isKnown = false
          return condition
        }
        // The text under it is matched, and matched again by what follows.
        return { ...condition, first: body.first }
      }
      default: {
        // The number of rounds changes the time by a factor only; a few are representative.
        const least = Math.min(part.least, 3)
        const further = part.most === Infinity ? 0 : Math.min(part.most - part.least, 2)
        let all = nothing
        for (let round = 0; round < least; round++) {
          const body = build(part.body)
          all = join(all, part.most === Infinity && round === least - 1 ? loop(body) : body)
        }
        if (part.most === Infinity && least === 0) all = optional(loop(build(part.body)))
        // Each further round only after the one before it: (x(x)?)?
        let rest = nothing
        for (let round = 0; round < further; round++) rest = optional(join(build(part.body), rest))
        return join(all, rest)
      }
    }
  }

  const mark = add(new Set([startMark]))
  const anything = add(new Set(characters.keys()))
  const skipped = join(mark, optional(loop(anything)))
  // At the beginning of an expression, a condition on the line is one on the start position.
  const isOfLine = pattern.type === 'sequence' && pattern.parts[0]?.type === 'line'
  const starts = isOfLine
    ? [...mark.last, ...join(skipped, add(acceptedBy(String.raw`[\n\r\u2028\u2029]`, flags))).last]
    : skipped.last
  const body = build(pattern)
  link(starts, body.first)
  if (!isKnown) return undefined
  if (body.isFree) return []
  const all = acceptedBy('[^]', flags)
  const sure = new Set(body.sure)
  // A loop over all characters up to the end of the text cannot fail either.
  for (const [index, { accepts, next }] of states.entries()) {
    const mayEnd = [...next.keys()].some((to) => sure.has(to) && states[to]!.accepts.has(endMark))
    if (mayEnd && next.has(index) && accepts.size === all.size) sure.add(index)
  }
  for (const index of sure) states[index]!.next.clear()
  return states
}

function hasLoop(pattern: Pattern): boolean {
  switch (pattern.type) {
    case 'repeat':
      return pattern.most === Infinity || hasLoop(pattern.body)
    case 'sequence':
      return pattern.parts.some(hasLoop)
    case 'choice':
      return pattern.options.some(hasLoop)
    case 'look':
      return hasLoop(pattern.body)
    default:
      return false
  }
}

const known = new Map<string, ReadonlySet<number>>()

function acceptedBy(source: string, flags: string): ReadonlySet<number> {
  const own = flags.replaceAll(/[dgmy]/g, '')
  const key = `${own}/${source}`
  const before = known.get(key)
  if (before) return before
  const single = new RegExp(`^(?:${source})$`, own)
  const found = new Set([...characters.keys()].filter((index) => single.test(characters[index]!)))
  known.set(key, found)
  return found
}

/** Characters that no state distinguishes are one symbol. */
function symbolsOf(states: readonly State[]): readonly number[] {
  const seen = new Map<string, number>()
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    const key = states.map(({ accepts }) => (accepts.has(symbol) ? '1' : '0')).join('')
    if (!seen.has(key)) seen.set(key, symbol)
  }
  return [...seen.values()]
}

/** For each state and symbol: the next states that accept the symbol. */
type Steps = readonly (readonly (readonly number[])[])[]

function stepsOf(states: readonly State[]): Steps {
  const symbols = symbolsOf(states)
  return states.map(({ next }) =>
    symbols.map((symbol) => [...next.keys()].filter((to) => states[to]!.accepts.has(symbol))),
  )
}

/** From each state, the states that it reaches in one step or more. */
function reachOf(states: readonly State[]): readonly ReadonlySet<number>[] {
  return states.map((_, from) => {
    const reached = new Set<number>()
    const open = [from]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const to of states[at]!.next.keys()) {
        if (reached.has(to)) continue
        reached.add(to)
        open.push(to)
      }
    }
    return reached
  })
}

function isExponential(states: readonly State[]): boolean {
  const reach = reachOf(states)
  const isLoop = (from: number, to: number): boolean => reach[to]!.has(from) || from === to
  // Two edges between the same states of a loop are already two paths.
  for (const [from, { next }] of states.entries()) {
    for (const [to, ways] of next) if (ways > 1 && reach[to]!.has(from)) return true
  }
  const steps = stepsOf(states)
  const count = states.length
  for (const [start] of states.entries()) {
    if (!reach[start]!.has(start)) continue
    // Both paths at once, from (start, start) over a pair of different states and back.
    const seen = new Set<number>([start * count + start])
    const open: (readonly [number, number])[] = [[start, start]]
    const before = new Map<number, number[]>()
    for (let pair = open.pop(); pair; pair = open.pop()) {
      const [a, b] = pair
      for (const [symbol, left] of steps[a]!.entries()) {
        for (const x of left) {
          for (const y of steps[b]![symbol]!) {
            if (!isLoop(start, x) || !isLoop(start, y)) continue
            const key = x * count + y
            before.set(key, [...(before.get(key) ?? []), a * count + b])
            if (seen.has(key)) continue
            seen.add(key)
            open.push([x, y])
          }
        }
      }
    }
    const returning = new Set<number>()
    const back = [start * count + start]
    for (let key = back.pop(); key !== undefined; key = back.pop()) {
      for (const from of before.get(key) ?? []) {
        if (returning.has(from)) continue
        returning.add(from)
        back.push(from)
      }
    }
    for (const key of returning) if (Math.floor(key / count) !== key % count) return true
  }
  return false
}

function isQuadratic(states: readonly State[]): boolean {
  const reach = reachOf(states)
  const steps = stepsOf(states)
  const count = states.length
  const looping = [...states.keys()].filter((state) => reach[state]!.has(state))
  for (const p of looping) {
    for (const q of looping) {
      if (p === q || !reach[p]!.has(q)) continue
      // Over one text: p to p, p to q and q to q.
      const seen = new Set<number>()
      const goal = (p * count + q) * count + q
      const open: (readonly [number, number, number])[] = [[p, p, q]]
      for (let three = open.pop(); three; three = open.pop()) {
        const [a, b, c] = three
        for (const [symbol, first] of steps[a]!.entries()) {
          for (const x of first) {
            if (x !== p && !reach[x]!.has(p)) continue
            for (const y of steps[b]![symbol]!) {
              if (y !== q && !reach[y]!.has(q)) continue
              for (const z of steps[c]![symbol]!) {
                if (z !== q && !reach[z]!.has(q)) continue
                const key = (x * count + y) * count + z
                if (key === goal) return true
                if (seen.has(key)) continue
                seen.add(key)
                open.push([x, y, z])
              }
            }
          }
        }
      }
    }
  }
  return false
}
