/** Which names a real API server accepts, place by place. */
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock/random.ts'
import {
  type NameCheck,
  checkAnnotationKey,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkPrefix,
  checkQualifiedName,
  generateName,
} from '../../src/kube/name.ts'
import type { NamePlace, NameVector } from '../vectors/cases/names.ts'
import { readVectors } from '../vectors/read.ts'
import { differences } from './differences.ts'

const { vectors } = await readVectors<NameVector>('names')

const checks: Readonly<Partial<Record<NamePlace, NameCheck>>> = {
  subdomain: checkDnsSubdomain,
  label1123: checkDnsLabel,
  service: checkDnsLabel,
  pathSegment: checkPathSegment,
  // The prefix itself, and then the name made from it, must be well formed.
  generateName: (text) => [
    ...checkPrefix(checkDnsSubdomain)(text),
    ...checkDnsSubdomain(generateName(text, seededRandom(1))),
  ],
  labelKey: checkQualifiedName,
  labelValue: checkLabelValue,
  annotationKey: checkAnnotationKey,
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
