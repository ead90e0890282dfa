/** The order of keys in YAML as kubectl and kustomize write it. */

/** The key order of kubectl: letters come last, and digits are compared as numbers: a2 before a10. */
export function compareKeys(a: string, b: string): number {
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  const x = a[at]
  const y = b[at]
  if (x === undefined || y === undefined) return a.length - b.length
  const letters = Number(isLetter(x)) - Number(isLetter(y))
  if (letters !== 0) return letters
  if (isLetter(x)) return x < y ? -1 : 1
  const [digits, otherDigits] = [digitsFrom(a, at), digitsFrom(b, at)]
  // Within a number a zero is a digit like any other; leading zeros do not count.
  const lead = (x === '0' || y === '0') && endsInNumber(a, at) ? '1' : ''
  const difference = compareDigits(lead + digits, lead + otherDigits)
  if (difference !== 0) return difference
  return digits.length - otherDigits.length || (x < y ? -1 : 1)
}

/** Whether the text before this position ends in digits that are not all zero. */
function endsInNumber(text: string, end: number): boolean {
  for (let at = end - 1; at >= 0; at--) {
    const digit = text[at]!
    if (digit < '0' || digit > '9') return false
    if (digit !== '0') return true
  }
  return false
}

/** Compared as numbers of any length. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')]
  if (left.length !== right.length) return left.length - right.length
  return left < right ? -1 : left > right ? 1 : 0
}

function isLetter(character: string): boolean {
  return character > '\x7f' ? /\p{L}/u.test(character) : /[A-Za-z]/.test(character)
}

function digitsFrom(text: string, start: number): string {
  return /^\d*/.exec(text.slice(start))![0]
}
