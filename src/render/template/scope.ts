/** Variables of an executing template: a stack, because each block forgets its own. */

/** A value and whether it was taken from a place of type `interface {}`: only messages tell. */
export interface VariableCell {
  readonly value: unknown
  readonly isInterface: boolean
}

export class TemplateScope {
  readonly #names: string[] = ['$']
  readonly #cells: VariableCell[]

  /** @param data the value of `$` */
  constructor(data: unknown) {
    this.#cells = [{ value: data, isInterface: false }]
  }

  mark(): number {
    return this.#names.length
  }

  /** Forgets all variables since the mark. */
  reset(mark: number): void {
    this.#names.length = mark
    this.#cells.length = mark
  }

  declare(name: string, cell: VariableCell): void {
    this.#names.push(name)
    this.#cells.push(cell)
  }

  /** The last variable of this name; undefined if there is none. */
  get(name: string): VariableCell | undefined {
    const at = this.#names.lastIndexOf(name)
    return at < 0 ? undefined : this.#cells[at]
  }

  /** Whether there is such a variable. */
  assign(name: string, cell: VariableCell): boolean {
    const at = this.#names.lastIndexOf(name)
    if (at >= 0) this.#cells[at] = cell
    return at >= 0
  }

  /** Sets the variable that was declared last (1) or before it (2). */
  setTop(position: number, cell: VariableCell): void {
    this.#cells[this.#cells.length - position] = cell
  }
}
