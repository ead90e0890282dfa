/**
 * The approximate size of an object in memory, so that buffers of objects can be limited by bytes, not only by count.
 */

const sizes = new WeakMap<object, number>()

/** Objects are immutable, so each is measured once. */
export function sizeOf(object: object): number {
  const known = sizes.get(object)
  if (known !== undefined) return known
  const size = measured(object)
  sizes.set(object, size)
  return size
}

/** Approximate cost of a field or an item beside its value. */
const overhead = 16

/** Not recursive: objects may be nested deeply. */
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
