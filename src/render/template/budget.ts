/**
 * Bounds of a render. A template can loop, recurse and repeat text; each render may do a certain number of steps and hold a
 * certain amount of text, after which it is stopped.
 */
import { BudgetExceeded } from './go-error.ts'

export interface RenderBudget {
  /** Executed nodes, loop iterations and elements created by functions. @default 20_000_000 */
  readonly steps?: number | undefined
  /** Characters of output, and of text created by functions. @default 268_435_456 */
  readonly text?: number | undefined
}

const defaultSteps = 20_000_000
const defaultText = 256 * 1024 * 1024

/** What is left of a {@link RenderBudget}. */
export class RenderMeter {
  #steps: number
  #text: number
  readonly #most: Required<RenderBudget>

  constructor({ steps = defaultSteps, text = defaultText }: RenderBudget = {}) {
    this.#most = { steps, text }
    this.#steps = steps
    this.#text = text
  }

  /** @throws BudgetExceeded */
  step(count = 1): void {
    this.#steps -= count
    if (this.#steps < 0) throw new BudgetExceeded(`more than ${this.#most.steps} steps`)
  }

  /** Called before text of this length is created. @throws BudgetExceeded */
  text(length: number): void {
    this.#text -= length
    if (this.#text < 0) throw new BudgetExceeded(`more than ${this.#most.text} characters of text`)
  }
}
