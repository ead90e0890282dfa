/** The identity of a process in Leases: its host name and a random part. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { trimEnd } from '../../kube/text/trim-end.ts'

/** Valid as part of an object name. The random part makes it unique: host names and process ids recur in containers. */
export function replicaName(): string {
  const words = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 40)
  const host = trimEnd(words.replace(/^-+/, ''), '-')
  return `${host || 'muster'}-${randomBytes(4).toString('hex')}`
}
