/** What is compared of two results. */
import type { RenderCase, RenderResult } from './render-case.ts'

const file = 'c/templates/a.yaml'

/** Messages of the parsers of YAML and TOML are their own: that there is one must agree. */
function comparable(text: string): string {
  return text
    .replaceAll(/error converting YAML to JSON: yaml: .*/gs, 'invalid YAML')
    .replaceAll(/toml: line .*/gs, 'invalid TOML')
}

export function outcome({ rendered, error, unbounded }: RenderResult): string {
  if (unbounded) return 'does not end'
  return error === undefined ? comparable(rendered?.[file] ?? '') : `error: ${comparable(error)}`
}

/** The root has members here that it does not have there: the cluster's capabilities, the chart's metadata. */
function showsRoot({ rendered, error }: RenderResult): boolean {
  const text = `${rendered?.[file] ?? ''}${error ?? ''}`
  return /Capabilities|43617061|Q2FwYWJpbGl0aWVz/.test(text)
}

/** Each difference, with its case. */
export function differences(
  cases: readonly RenderCase[],
  here: readonly RenderResult[],
  helm: readonly RenderResult[],
): readonly string[] {
  return cases.flatMap((one, index) => {
    const [ours, theirs] = [here[index]!, helm[index]!]
    if (outcome(ours) === outcome(theirs) || showsRoot(theirs)) return []
    return [`${JSON.stringify(one)}\n  here: ${outcome(ours)}\n  helm: ${outcome(theirs)}`]
  })
}
