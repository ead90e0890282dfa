/** What a process calls itself in Leases: where it is, and nobody else's. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { trimEnd } from '../../kube/trim-end.ts'

/** Fit to be part of an object's name. Chance makes it one's own: in containers, hosts and process ids come again. */
export function replicaName(): string {
  const words = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 40)
  const host = trimEnd(words.replace(/^-+/, ''), '-')
  return `${host || 'muster'}-${randomBytes(4).toString('hex')}`
}
