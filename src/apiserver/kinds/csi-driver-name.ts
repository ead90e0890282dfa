/** Names of storage drivers. */
import { dnsSubdomain } from './name-format.ts'
import { eachInvalid, type Problems, required, tooLong } from './problem.ts'

const longest = 63

export function checkCsiDriverName(name: string | undefined, field: string): Problems {
  if (!name) return [required(field)]
  return [
    ...(Buffer.byteLength(name) > longest ? [tooLong(field, longest)] : []),
    ...eachInvalid(field, name, dnsSubdomain(name.toLowerCase())),
  ]
}
