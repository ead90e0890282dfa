/**
 * `Warning` headers: how an API server speaks of deprecated versions, unknown fields and doubtful values without
 * refusing them. One header may hold several, each `code agent "text"` with an optional quoted date.
 */

export interface ServerWarning {
  /** 299 for all that Kubernetes sends. */
  readonly code: number
  /** Who warns; `-` when it does not say. */
  readonly agent: string
  readonly text: string
}

/** Escapes stand in the text: `\"` and `\\`, as everywhere in HTTP. */
const warning = /^\s*(?:,\s*)?(\d{3})\s+(\S+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"[^"]*")?\s*/s

/** The warnings of a header. What cannot be read ends the list: a warning is never worth a failed request. */
export function parseWarnings(header: string): readonly ServerWarning[] {
  const warnings: ServerWarning[] = []
  let rest = header
  for (let match = warning.exec(rest); match; match = warning.exec(rest)) {
    const [whole, code, agent, text] = match
    warnings.push({ code: Number(code), agent: agent!, text: text!.replace(/\\(.)/gs, '$1') })
    rest = rest.slice(whole.length)
  }
  return warnings
}
