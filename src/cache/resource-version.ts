/**
 * Resource versions: decimal numbers of any length, comparable within one resource of one server. A delete has none that
 * its writer knows: there the uid of the deleted object stands for it.
 */

/**
 * The order of two versions. A version in another form cannot be ordered and counts as not later: no event is held back
 * because of it.
 */
export function isLater(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return false
  return a.length === b.length ? a > b : a.length > b.length
}

function isDecimal(version: string): boolean {
  return /^\d+$/.test(version)
}

/** Stands for the resource version of a delete, which no response contains. */
export function deleteVersion(uid: string | undefined): string {
  return `gone ${uid ?? ''}`
}

export function isDeleteVersion(version: string): boolean {
  return version.startsWith('gone ')
}
