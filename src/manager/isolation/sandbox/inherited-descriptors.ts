/**
 * Descriptors that this process inherited (`node … 63<secret`, sockets of a process supervisor) would be inherited by
 * its children: Node marks them close-on-exec only up to the first gap. A child with untrusted code gets /dev/null in
 * their place.
 */
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'

type Stdio = 'ignore' | 'pipe' | number

const closeOnExec = 0o2_000_000
let nothing: number | undefined

/** The same, with /dev/null for all further descriptors that a child would inherit. */
export function withoutInherited(stdio: readonly Stdio[]): Stdio[] {
  const whole = [...stdio]
  for (const fd of inheritable()) {
    if (fd < stdio.length) continue
    while (whole.length < fd) whole.push('ignore')
    nothing ??= openSync(devNull, 'r')
    whole[fd] = nothing
  }
  return whole
}

/** In ascending order. Known on Linux only. */
function inheritable(): readonly number[] {
  const place = '/proc/self/fdinfo'
  let names: readonly string[]
  try {
    names = readdirSync(place)
  } catch {
    return []
  }
  return names
    .map(Number)
    .filter((fd) => !isCloseOnExec(`${place}/${fd}`))
    .toSorted((one, other) => one - other)
}

function isCloseOnExec(file: string): boolean {
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(file, 'utf8')) ?? []
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0
  } catch {
    // It was closed meanwhile.
    return true
  }
}
