/**
 * Reviews: kinds that are asked, not stored. There is one identity so far, and it may do everything; an impersonated
 * one is taken at its word.
 */
import type { UntypedObject } from '../kube/object.ts'

type Headers = Readonly<Record<string, string | readonly string[]>>

/** Who every client is. */
export const administrator = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
} as const

const accessReviews = new Set(['SelfSubjectAccessReview', 'SubjectAccessReview', 'LocalSubjectAccessReview'])

/** Whether creating one of these is a question. */
export function isReview(kind: string): boolean {
  return kind === 'SelfSubjectReview' || accessReviews.has(kind)
}

export function review(object: UntypedObject, headers: Headers): UntypedObject {
  const isAccess = accessReviews.has(object.kind)
  const status = isAccess
    ? { allowed: true, reason: 'the embedded server allows everything' }
    : { userInfo: userOf(headers) }
  return { ...object, status }
}

function userOf(headers: Headers): object {
  const [username] = valuesOf(headers['impersonate-user'])
  if (username === undefined) return administrator
  return { username, groups: [...valuesOf(headers['impersonate-group']), 'system:authenticated'] }
}

function valuesOf(header: string | readonly string[] | undefined): readonly string[] {
  return header === undefined ? [] : typeof header === 'string' ? [header] : header
}
