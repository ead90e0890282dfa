/** The result of a generator: a file name and its text. */
export interface GeneratorOutput {
  readonly name: string
  readonly text: string
}
