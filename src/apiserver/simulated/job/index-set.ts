/** Sets of completion indexes as Jobs write them: `0-2,5,7`. */
export function formatIndexes(indexes: Iterable<number>): string {
  const parts: [number, number][] = []
  for (const index of [...new Set(indexes)].toSorted((a, b) => a - b)) {
    const last = parts.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else parts.push([index, index])
  }
  return parts
    .map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from},${to}` : `${from}-${to}`))
    .join(',')
}

/** Invalid parts are ignored. */
export function parseIndexes(text: string | undefined): ReadonlySet<number> {
  const found = new Set<number>()
  for (const part of (text ?? '').split(',')) {
    const [, from, to] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (from === undefined) continue
    for (let index = Number(from); index <= Number(to ?? from); index++) found.add(index)
  }
  return found
}
