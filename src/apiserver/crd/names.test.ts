import { describe, expect, it } from 'vitest'
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../kube/types/apiextensions/v1.ts'
import { areNamesAccepted, decideNames } from './names.ts'

const things = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList', shortNames: ['tg'] }
const others = { plural: 'others', singular: 'other', kind: 'Other', listKind: 'OtherList' }

function crd(
  names: CustomResourceDefinitionNames,
  acceptedNames?: CustomResourceDefinitionNames,
): CustomResourceDefinition {
  return { spec: { names }, ...(acceptedNames && { status: { acceptedNames } }) } as unknown as CustomResourceDefinition
}

describe('names of a definition', () => {
  it('are all accepted if they are free', () => {
    const own = crd(things)
    expect(decideNames(own, [own])).toMatchObject({ acceptedNames: things, condition: { status: 'True' } })
  })

  it('are rejected one by one if another definition has them, and the last conflict is reported', () => {
    const own = crd({ ...others, singular: 'thing', kind: 'Thing', categories: ['all'] })
    const { acceptedNames, condition } = decideNames(own, [own, crd(things, things)])
    expect(acceptedNames).toEqual({ plural: 'others', kind: '', listKind: 'OtherList', categories: ['all'] })
    expect(condition).toMatchObject({ status: 'False', reason: 'KindConflict', message: '"Thing" is already in use' })
  })

  it('do not conflict with the accepted names of the same definition', () => {
    const own = crd({ ...things, shortNames: ['tg', 'new'] }, things)
    expect(decideNames(own, [own]).acceptedNames.shortNames).toEqual(['tg', 'new'])
  })

  it('are accepted when all desired names are, apart from empty lists', () => {
    expect(areNamesAccepted(crd({ ...others, shortNames: [] }, others))).toBe(true)
    expect(areNamesAccepted(crd(things, others))).toBe(false)
    expect(areNamesAccepted(crd(things))).toBe(false)
  })
})
