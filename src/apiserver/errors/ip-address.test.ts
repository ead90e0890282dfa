import { BlockList, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkCanonicalIp, checkCidr, checkIp, formatIp, isInRange, parseCidr, parseIp } from './ip-address.ts'

const ipv4 = fc.ipV4()
const ipv6 = fc.ipV6()

describe('IP addresses', () => {
  it("parse like Node's own parser", () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6, fc.stringMatching(/^[0-9a-f:.]{0,20}$/)), (text) => {
        const read = parseIp(text)
        const isOdd = read?.hasLeadingZeros ?? false
        expect(read !== undefined && !isOdd).toBe(isIPv4(text) || isIPv6(text))
      }),
    )
  })

  it('have one canonical form, which parses to the same address', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (text) => {
        const read = parseIp(text)!
        const written = formatIp(read)
        expect(parseIp(written)).toMatchObject({ family: read.family, bits: read.bits })
        expect(formatIp(parseIp(written)!)).toBe(written)
      }),
    )
  })

  it.each([
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['10:0:5:0:0:1:2:3', '10:0:5::1:2:3'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['010.1.2.3', '10.1.2.3'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
  ])('%s is canonically %s', (text, canonical) => {
    expect(formatIp(parseIp(text)!)).toBe(canonical)
    expect(checkCanonicalIp(text, 'f').length > 0).toBe(text !== canonical)
  })

  it("are in the same ranges as with Node's BlockList", () => {
    const length = fc.integer({ min: 0, max: 32 })
    fc.assert(
      fc.property(ipv4, ipv4, length, (address, network, prefix) => {
        const list = new BlockList()
        list.addSubnet(network, prefix)
        expect(isInRange(parseIp(address)!, parseCidr(`${network}/${prefix}`)!)).toBe(list.check(address))
      }),
    )
  })

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0',
    '::/129',
    'x/8',
    '10.0.0.1/24',
    '10.00.0.0/8',
    '10.0.0.0/08',
  ])('rejects the CIDR %s', (text) => {
    expect(checkCidr(text, 'f')).toHaveLength(1)
  })

  it('accepts values of the live object', () => {
    expect(checkIp('010.1.2.3', 'f')).toHaveLength(1)
    expect(checkIp('010.1.2.3', 'f', ['010.1.2.3'])).toEqual([])
  })
})
