/** Which names a real API server accepts, place by place. */
import { describe, expect, it } from 'vitest'
import {
  type NameCheck,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
} from '../../src/kube/meta/name.ts'
import type { NamePlace, NameVector } from '../vectors/cases/names.ts'
import { readVectors } from '../vectors/read.ts'
import { differences } from './differences.ts'

const { vectors } = await readVectors<NameVector>('names')

const checks: Readonly<Partial<Record<NamePlace, NameCheck>>> = {
  subdomain: checkDnsSubdomain,
  label1123: checkDnsLabel,
  service: checkDnsLabel,
  pathSegment: checkPathSegment,
  labelKey: checkQualifiedName,
  labelValue: checkLabelValue,
}

describe('names', () => {
  for (const [place, check] of Object.entries(checks))
    it(`are accepted as ${place} where the server accepts them`, () => {
      // An object must have some name, whatever its form.
      const tried = vectors.filter(({ text }) => text !== '' || place.startsWith('label'))
      expect(
        differences(
          tried,
          ({ text }) => check(text).length === 0,
          ({ accepted }) => accepted.includes(place as NamePlace),
        ),
      ).toEqual([])
    })
})
