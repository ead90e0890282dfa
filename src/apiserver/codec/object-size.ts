/** How much memory an object takes, about: what is bounded by count alone has no bound where objects may be large. */

const sizes = new WeakMap<object, number>()

/** Objects are never changed in place, so the size of one is worked out once. */
export function sizeOf(object: object): number {
  const known = sizes.get(object)
  if (known !== undefined) return known
  const size = measured(object)
  sizes.set(object, size)
  return size
}

/** What the engine needs for a member or an item beside its value. */
const overhead = 16

/** Without recursion: an object may be nested as deep as a request may be. */
function measured(object: object): number {
  let size = 0
  const open: object[] = [object]
  for (let next = open.pop(); next; next = open.pop()) {
    for (const key in next) {
      const value = (next as Readonly<Record<string, unknown>>)[key]
      size += overhead
      if (typeof value === 'string') size += value.length
      else if (typeof value === 'object' && value !== null) open.push(value)
      if (!Array.isArray(next)) size += key.length
    }
  }
  return size
}
