/**
 * Bounds of a render. A template can loop, recurse and repeat text; each render may do a certain number of steps and hold a
 * certain amount of text, after which it is stopped.
 */
import { BudgetExceeded } from './go-error.ts'
import { GoObject } from './values.ts'

export interface RenderBudget {
  /** Executed nodes, loop iterations and elements created by functions. @default 20_000_000 */
  readonly steps?: number | undefined
  /** Characters of output, and of text created by functions. @default 268_435_456 */
  readonly text?: number | undefined
  /** By the clock of the render. @default no limit */
  readonly milliseconds?: number | undefined
}

const defaultSteps = 20_000_000
/** Steps from one look at the clock to the next. */
const stepsPerLook = 20_000
const defaultText = 256 * 1024 * 1024

/** What is left of a {@link RenderBudget}. */
export class RenderMeter {
  #steps: number
  #text: number
  /** When so many steps are left, the clock is looked at. */
  #nextLook: number
  readonly #deadline: number
  readonly #now: () => number
  readonly #most: Required<RenderBudget>

  constructor({ steps = defaultSteps, text = defaultText, milliseconds }: RenderBudget, now: () => number) {
    this.#most = { steps, text, milliseconds }
    this.#steps = steps
    this.#text = text
    this.#now = now
    this.#deadline = milliseconds === undefined ? Infinity : now() + milliseconds
    this.#nextLook = milliseconds === undefined ? -1 : steps - stepsPerLook
  }

  /** @throws BudgetExceeded */
  step(count = 1): void {
    this.#steps -= count
    if (this.#steps < this.#nextLook) this.#look()
    if (this.#steps < 0) throw new BudgetExceeded(`more than ${this.#most.steps} steps`)
  }

  #look(): void {
    this.#nextLook = this.#steps - stepsPerLook
    if (this.#now() > this.#deadline) throw new BudgetExceeded(`more than ${this.#most.milliseconds} ms`)
  }

  /**
   * Called before a value is written, copied or compared as a whole. Parts that it shares count each time: a list of two lists of
   * two lists … has few parts, and more text than there is memory.
   * @throws BudgetExceeded
   */
  measure(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    new Measure(this, this.#text).add(value, 1)
  }

  /** Called before text of this length is created. @throws BudgetExceeded */
  text(length: number): void {
    this.#text -= length
    if (this.#text < 0) throw new BudgetExceeded(`more than ${this.#most.text} characters of text`)
  }
}

/** Elements of one value: more do not fit into memory while it is written. */
const mostElements = 3_000_000

/** Deeper values contain themselves: they are refused by what writes them. */
const deepest = 1000

class Measure {
  #elements = 0
  #text: number
  readonly #most: number
  readonly #meter: RenderMeter

  constructor(meter: RenderMeter, text: number) {
    this.#meter = meter
    this.#text = text
    this.#most = text
  }

  /** @param depth each line of it can be indented by this */
  add(value: unknown, depth: number): void {
    if (typeof value === 'string') this.#spend(value.length)
    if (typeof value !== 'object' || value === null || depth > deepest) return
    if (value instanceof Uint8Array) this.#spend(4 * value.length)
    else if (value instanceof GoObject) this.add(value.json, depth + 1)
    else if (Array.isArray(value)) {
      this.#count(value.length, depth)
      for (const item of value as readonly unknown[]) this.add(item, depth + 1)
    } else {
      for (const key in value) {
        if (!Object.hasOwn(value, key)) continue
        this.#count(1, depth)
        this.#spend(key.length)
        this.add((value as Readonly<Record<string, unknown>>)[key], depth + 1)
      }
    }
  }

  #count(elements: number, depth: number): void {
    this.#elements += elements
    if (this.#elements > mostElements) throw new BudgetExceeded(`a value of more than ${mostElements} elements`)
    this.#meter.step(elements)
    this.#spend(elements * depth)
  }

  #spend(length: number): void {
    this.#text -= length
    if (this.#text < 0) throw new BudgetExceeded(`more than ${this.#most} characters of text`)
  }
}
