/**
 * Recall: a memo of pure functions. A simulation runs the same cluster again and again, and would handle the same requests and
 * read the same watch lines thousands of times; clusters that share a recall do each once.
 *
 * Objects are immutable, so a memoised one is as good as a new one. Errors are not kept, and only the latest results are, in two
 * generations: a used result moves to the young one, and the old one is dropped when the young one is full.
 */
export interface Recall {
  /**
   * `input` is the text of everything that `make` depends on, including the function itself; or `within` names that: then a long
   * text need not be built. There are few such names.
   */
  <T>(input: () => string, make: () => T, within?: string): T
}

/** For clusters that run once: nothing is kept, and no input is built. */
export const noRecall: Recall = (_input, make) => make()

/** Keeps inputs of up to twice this many characters. */
export function createRecall(characters: number = 8 * 1024 * 1024): Recall {
  const drawers = new Map<string, Drawer>()
  let size = 0
  const open = (within: string): Drawer => {
    const drawer = { young: new Map(), old: new Map() }
    drawers.set(within, drawer)
    return drawer
  }
  const keep = (drawer: Drawer, input: string, made: unknown): void => {
    drawer.young.set(input, made)
    size += input.length
    if (size <= characters) return
    for (const one of drawers.values()) {
      one.old = one.young
      one.young = new Map()
    }
    size = 0
  }
  return <T>(input: () => string, make: () => T, within = ''): T => {
    const drawer = drawers.get(within) ?? open(within)
    const text = input()
    const known = drawer.young.get(text)
    if (known !== undefined || drawer.young.has(text)) return known as T
    const made = drawer.old.has(text) ? (drawer.old.get(text) as T) : make()
    keep(drawer, text, made)
    return made
  }
}

interface Drawer {
  young: Map<string, unknown>
  old: Map<string, unknown>
}

const identities = new WeakMap<object, number>()
let identified = 0

/** A number that identifies an object by reference, where its text would be long: a schema. */
export function recallIdentity(object: object | undefined): number {
  if (!object) return 0
  const known = identities.get(object) ?? ++identified
  identities.set(object, known)
  return known
}
