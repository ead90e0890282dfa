/**
 * A unified diff of two texts, as the real server prints it when an update of a pod is rejected. It finds the longest
 * run of equal lines first, then those before and after it; lines that are too frequent in a long text start no run.
 * This is the algorithm of Python's difflib, whose choices are visible in the result.
 */
interface Run {
  readonly a: number
  readonly b: number
  readonly size: number
}

/** Lines of context around a change. */
const context = 3
/** In texts of at least this many lines, a line that makes up more than a hundredth of them starts no run. */
const longText = 200

export function unifiedDiff(before: string, after: string): string {
  const a = before.split('\n')
  const b = after.split('\n')
  return hunksOf(equalRuns(a, b), a.length, b.length)
    .map((runs) => hunkText(runs, a, b))
    .join('')
}

/** In longer texts only the common beginning and end are matched: the algorithm is quadratic. */
const maxLines = 4000

function equalEnds(a: readonly string[], b: readonly string[]): readonly Run[] {
  const shorter = Math.min(a.length, b.length)
  let head = 0
  while (head < shorter && a[head] === b[head]) head++
  let tail = 0
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const runs = [
    { a: 0, b: 0, size: head },
    { a: a.length - tail, b: b.length - tail, size: tail },
  ]
  return runs.filter(({ size }) => size > 0)
}

function equalRuns(a: readonly string[], b: readonly string[]): readonly Run[] {
  if (a.length + b.length > maxLines) return equalEnds(a, b)
  const places = placesOf(b)
  const runs: Run[] = []
  const search = (aLow: number, aHigh: number, bLow: number, bHigh: number): void => {
    const { a: at, b: bt, size } = longestRun(a, b, places, [aLow, aHigh, bLow, bHigh])
    if (size === 0) return
    search(aLow, at, bLow, bt)
    const last = runs.at(-1)
    if (last && last.a + last.size === at && last.b + last.size === bt) {
      runs[runs.length - 1] = { ...last, size: last.size + size }
    } else runs.push({ a: at, b: bt, size })
    search(at + size, aHigh, bt + size, bHigh)
  }
  search(0, a.length, 0, b.length)
  return runs
}

function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [index, line] of lines.entries()) {
    const known = places.get(line)
    if (known) known.push(index)
    else places.set(line, [index])
  }
  if (lines.length < longText) return places
  const most = Math.floor(lines.length / 100) + 1
  return new Map([...places].filter(([, found]) => found.length <= most))
}

function longestRun(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  [aLow, aHigh, bLow, bHigh]: readonly [number, number, number, number],
): Run {
  let [at, bt, size] = [aLow, bLow, 0]
  let lengths = new Map<number, number>()
  for (let index = aLow; index < aHigh; index++) {
    const next = new Map<number, number>()
    for (const place of places.get(a[index]!) ?? []) {
      if (place < bLow) continue
      if (place >= bHigh) break
      const length = (lengths.get(place - 1) ?? 0) + 1
      next.set(place, length)
      if (length > size) [at, bt, size] = [index - length + 1, place - length + 1, length]
    }
    lengths = next
  }
  while (at > aLow && bt > bLow && a[at - 1] === b[bt - 1]) [at, bt, size] = [at - 1, bt - 1, size + 1]
  while (at + size < aHigh && bt + size < bHigh && a[at + size] === b[bt + size]) size++
  return { a: at, b: bt, size }
}

/** A section of lines: equal on both sides, or different. */
interface Stretch {
  readonly isEqual: boolean
  readonly a: readonly [number, number]
  readonly b: readonly [number, number]
}

/** Changes with their context; changes whose contexts touch form one hunk. */
function hunksOf(runs: readonly Run[], aLength: number, bLength: number): readonly (readonly Stretch[])[] {
  const stretches: Stretch[] = []
  let [aDone, bDone] = [0, 0]
  for (const { a, b, size } of [...runs, { a: aLength, b: bLength, size: 0 }]) {
    if (aDone < a || bDone < b) stretches.push({ isEqual: false, a: [aDone, a], b: [bDone, b] })
    if (size > 0) stretches.push({ isEqual: true, a: [a, a + size], b: [b, b + size] })
    ;[aDone, bDone] = [a + size, b + size]
  }
  const hunks: Stretch[][] = [[]]
  for (const [index, stretch] of stretches.entries()) {
    const isLast = index === stretches.length - 1
    const size = stretch.a[1] - stretch.a[0]
    if (!stretch.isEqual) hunks.at(-1)!.push(stretch)
    else if (index === 0) hunks.at(-1)!.push(cut(stretch, Math.max(size - context, 0), size))
    else if (isLast) hunks.at(-1)!.push(cut(stretch, 0, Math.min(context, size)))
    else if (size <= 2 * context) hunks.at(-1)!.push(stretch)
    else {
      hunks.at(-1)!.push(cut(stretch, 0, context))
      hunks.push([cut(stretch, size - context, size)])
    }
  }
  return hunks.filter((hunk) => hunk.some(({ isEqual }) => !isEqual))
}

function cut({ a, b }: Stretch, from: number, to: number): Stretch {
  return { isEqual: true, a: [a[0] + from, a[0] + to], b: [b[0] + from, b[0] + to] }
}

function hunkText(stretches: readonly Stretch[], a: readonly string[], b: readonly string[]): string {
  const first = stretches[0]!
  const last = stretches.at(-1)!
  const lines = stretches.flatMap(({ isEqual, a: [aLow, aHigh], b: [bLow, bHigh] }) =>
    isEqual
      ? a.slice(aLow, aHigh).map((line) => ` ${line}\n`)
      : a
          .slice(aLow, aHigh)
          .map((line) => `-${line}\n`)
          .concat(b.slice(bLow, bHigh).map((line) => `+${line}\n`)),
  )
  return `@@ -${span(first.a[0], last.a[1])} +${span(first.b[0], last.b[1])} @@\n${lines.join('')}`
}

function span(from: number, to: number): string {
  const length = to - from
  if (length === 1) return String(from + 1)
  // An empty range is printed as the line before it.
  return `${length === 0 ? from : from + 1},${length}`
}
