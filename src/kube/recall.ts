/**
 * Recall: what a pure function made of the same input before. A cluster that is played over and over, as in a simulation,
 * decodes the same bodies and works out the same owners thousands of times; clusters that share a recall do each once.
 *
 * Objects are never changed in place, so one that is given again is as good as one that is made again. What throws is
 * not kept, and of what is kept only the latest, in two generations: what is asked for moves to the young one, and the
 * old one is dropped when the young one is full.
 */
export interface Recall {
  /**
   * `input` is the text of everything that `make` looks at, and says which function it is; or `within` does: a long text need not
   * be written anew then. There are few of these.
   */
  <T>(input: () => string, make: () => T, within?: string): T
}

/** For clusters that live once: nothing is kept, and no input is written. */
export const noRecall: Recall = (_input, make) => make()

/** Keeps inputs of up to twice so many characters. */
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

/** A number for what is better told by what it is than by its text: a schema. */
export function recallIdentity(object: object | undefined): number {
  if (!object) return 0
  const known = identities.get(object) ?? ++identified
  identities.set(object, known)
  return known
}
