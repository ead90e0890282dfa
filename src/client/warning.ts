/**
 * `Warning` headers: API servers warn of deprecated versions, unknown fields and doubtful values without rejecting the
 * request. One header may hold several, each `code agent "text"` with an optional quoted date.
 */

export interface ServerWarning {
  /** 299 for all warnings of Kubernetes. */
  readonly code: number
  /** The source of the warning; `-` if unknown. */
  readonly agent: string
  readonly text: string
}

/** Escapes stand in the text: `\"` and `\\`, as everywhere in HTTP. */
const warning = /^\s*(?:,\s*)?(\d{3})\s+(\S+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"[^"]*")?\s*/s

/** The warnings of a header. An unreadable part ends the list: a warning never fails a request. */
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
