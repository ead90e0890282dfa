/**
 * The file of static tokens that `--token-auth-file` of kube-apiserver names: comma-separated values, one user a line: token,
 * user name, uid and, optionally, the groups as one quoted value.
 */
import type { TokenUser } from '../../apiserver/access/authenticate.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'

/** Messages name the line, never its text: that is a secret. @throws InvalidFlag */
export function readTokenFile(text: string, file: string): ReadonlyMap<string, TokenUser> {
  const tokens = new Map<string, TokenUser>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const cells = cellsOf(line)
    const [token = '', username = '', uid = '', groups = ''] = cells ?? []
    if (!cells || cells.length < 3 || token === '')
      throw new MusterError(
        flagErrors.InvalidFlag,
        `--token-auth-file ${file}:${index + 1}: a line has a token, a user name, a uid and, optionally, groups in quotes.`,
      )
    tokens.set(token, { username, uid, groups: groups.split(',').filter((group) => group !== '') })
  }
  return tokens
}

/** Undefined if a quote is not closed. A quote inside a quoted cell is doubled. */
function cellsOf(line: string): readonly string[] | undefined {
  const cells: string[] = []
  let at = 0
  for (;;) {
    let cell = ''
    if (line[at] === '"') {
      for (at++; ;) {
        const end = line.indexOf('"', at)
        if (end < 0) return undefined
        cell += line.slice(at, end)
        at = end + 1
        if (line[at] !== '"') break
        cell += '"'
        at++
      }
    }
    const comma = line.indexOf(',', at)
    cell += line.slice(at, comma < 0 ? undefined : comma)
    cells.push(cell)
    if (comma < 0) return cells
    at = comma + 1
  }
}
