/** What `muster generate` makes: a file's name and its text. */
export interface Made {
  readonly name: string
  readonly text: string
}
