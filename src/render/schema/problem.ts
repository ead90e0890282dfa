/** What does not fit a schema, and where. */

export interface SchemaProblem {
  /** The path of the value. */
  readonly at: readonly string[]
  readonly text: string
  /** Why each alternative fails. */
  readonly causes: readonly SchemaProblem[]
}

/** The result of one schema for one value. */
export interface SchemaEvaluation {
  readonly problems: readonly SchemaProblem[]
  /** Properties and items that some keyword looked at: the others are "unevaluated". */
  readonly properties: ReadonlySet<string>
  readonly items: ReadonlySet<number>
}

/** One line for each problem; causes are indented. */
export function printProblems(problems: readonly SchemaProblem[], indent = 0): readonly string[] {
  return problems.flatMap(({ at, text, causes }) => [
    `${'  '.repeat(indent)}- at '${pointerOf(at)}': ${text}`,
    ...printProblems(causes, indent + 1),
  ])
}

function pointerOf(at: readonly string[]): string {
  return at.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
