import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bundleOf,
  type Certificates,
  defaultLifetimes,
  dueAt,
  isCompleteBundle,
  type Lifetimes,
  rotate,
  type RotationInput,
} from './rotation.ts'

const hour = 3_600_000
const day = 24 * hour
const start = Date.UTC(2026, 0, 1)
const name = 'webhooks.muster.svc'

function input(now: number, more: Partial<RotationInput> = {}): RotationInput {
  return { now, lifetimes: defaultLifetimes, names: [name], isPublished: false, ...more }
}

/** From when until when a client that trusts the bundle takes the certificate. */
function trust(bundle: string, cert: string): readonly [from: number, until: number] {
  const leaf = new X509Certificate(cert)
  const issuer = (bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [])
    .map((one) => new X509Certificate(one))
    .find((one) => leaf.checkIssued(one) && leaf.verify(one.publicKey))
  if (!issuer || leaf.checkHost(name) === undefined) return [Infinity, -Infinity]
  return [
    Math.max(leaf.validFromDate.getTime(), issuer.validFromDate.getTime()),
    Math.min(leaf.validToDate.getTime(), issuer.validToDate.getTime()),
  ]
}

function trusts(bundle: string, cert: string, now: number): boolean {
  const [from, until] = trust(bundle, cert)
  return from <= now && now < until
}

describe('rotation', () => {
  it('changes nothing while nothing is due, and reports when the next step is', () => {
    const first = rotate(undefined, input(start))
    expect(isCompleteBundle(first)).toBe(true)
    expect(trusts(bundleOf(first), first.serving.cert, start)).toBe(true)
    expect(dueAt(first, defaultLifetimes)).toBe(start + 60 * day)
    expect(rotate(first, input(start + 60 * day - 1, { isPublished: true }))).toBe(first)
    const renewed = rotate(first, input(start + 60 * day))
    expect(renewed).toMatchObject({ authority: first.authority, next: undefined, retired: [] })
    expect(renewed.serving).not.toEqual(first.serving)
  })

  it('creates the next authority at two thirds, signs with it when it is published, removes the old one when it expires', () => {
    const first = rotate(undefined, input(start))
    const at = start + Math.ceil((365 * day * 2) / 3)
    const announced = rotate(first, input(at))
    expect(announced.authority).toBe(first.authority)
    expect([first.authority, announced.next!].every(({ cert }) => bundleOf(announced).includes(cert))).toBe(true)
    // However long it takes.
    expect(rotate(announced, input(at + 10 * day)).authority).toBe(first.authority)
    const promoted = rotate(announced, input(at + 10 * day, { isPublished: true }))
    expect(promoted).toMatchObject({ authority: announced.next, next: undefined, retired: [first.authority.cert] })
    expect(trusts(announced.next!.cert, promoted.serving.cert, at + 10 * day)).toBe(true)
    expect(bundleOf(promoted)).toBe(bundleOf(announced))
    const later = rotate(promoted, input(start + 365 * day))
    expect(later.retired).toEqual([])
  })

  it('does not wait for an unavailable cluster until all certificates have expired', () => {
    const first = rotate(undefined, input(start))
    const announced = rotate(first, input(start + 250 * day))
    const last = start + 365 * day * 0.9
    expect(rotate(announced, input(last - 1)).authority).toBe(first.authority)
    expect(dueAt(announced, defaultLifetimes)).toBeLessThanOrEqual(last)
    expect(rotate(announced, input(last)).authority).toBe(announced.next)
  })

  it('starts over after a suspension in which everything expired', () => {
    const first = rotate(undefined, input(start))
    const now = start + 400 * day
    const woken = rotate(first, input(now))
    expect(trusts(bundleOf(woken), woken.serving.cert, now)).toBe(true)
    expect(woken.retired).toEqual([])
    const announced = rotate(first, input(start + 250 * day))
    expect(rotate(announced, input(now)).authority).toBe(announced.next)
  })

  it('covers every requested name, and keeps those of others: two replicas that disagree do not alternate', () => {
    const first = rotate(undefined, input(start))
    const ours = rotate(first, input(start + 1, { names: ['127.0.0.1', '::1', 'b.example'] }))
    expect(new X509Certificate(ours.serving.cert).subjectAltName).toBe(
      `DNS:b.example, DNS:${name}, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1`,
    )
    expect(rotate(ours, input(start + 2))).toBe(ours)
    expect(rotate(ours, input(start + 3, { names: ['::1', 'b.example'] }))).toBe(ours)
    const renewed = rotate(ours, input(start + 61 * day))
    expect(new X509Certificate(renewed.serving.cert).subjectAltName).toBe(`DNS:${name}`)
  })

  it('detects damaged certificates', () => {
    const first = rotate(undefined, input(start))
    const other = rotate(undefined, input(start))
    expect(isCompleteBundle({ ...first, authority: { ...first.authority, key: other.authority.key } })).toBe(false)
    expect(isCompleteBundle({ ...first, serving: other.serving })).toBe(false)
    expect(isCompleteBundle({ ...first, next: { cert: 'junk', key: '' } })).toBe(false)
    expect(isCompleteBundle({ ...first, next: first.serving })).toBe(false)
    expect(isCompleteBundle({ ...first, retired: ['junk'] })).toBe(false)
  })

  it('never lets a replica serve a certificate that an API server does not trust, however late both are updated', () => {
    const lifetimes: Lifetimes = { authorityMs: 60 * day, servingMs: 12 * day, settleMs: 6 * hour, backdateMs: hour }
    const step = 2 * hour
    // A replica that hears nothing for longer than the last third of its certificate's life serves one that ran out.
    const longest = lifetimes.servingMs / 3 / step - 1
    const lag = fc.integer({ min: 0, max: lifetimes.settleMs / step })
    fc.assert(
      fc.property(
        fc.array(lag, { minLength: 2, maxLength: 2 }),
        fc.array(fc.integer({ min: 0, max: longest }), { minLength: 2, maxLength: 2 }),
        fc.integer({ min: 0, max: 50 }),
        (serverLags, replicaLags, publishLag) => {
          const secrets: Certificates[] = []
          const published: Certificates[] = []
          const authorities = new Set<string>()
          const spans = new Map<Certificates, Map<Certificates, ReturnType<typeof trust>>>()
          let publishedSince = 0
          let due = 0
          let current = rotate(undefined, { now: start, lifetimes, names: [name], isPublished: false })
          for (let tick = 0; tick < (365 * day) / step; tick++) {
            const now = start + tick * step
            if (secrets.at(-1) !== current) due = dueAt(current, lifetimes)
            secrets.push(current)
            // A replica publishes an earlier state of the Secret, and the API servers use it some time later.
            const known = secrets[Math.max(tick - publishLag, 0)]!
            if (known !== published.at(-1)) publishedSince = now
            published.push(known)
            for (const serverLag of serverLags) {
              for (const replicaLag of replicaLags) {
                const used = published[Math.max(tick - serverLag, 0)]!
                const serving = secrets[Math.max(tick - replicaLag, 0)]!
                const ofUsed = spans.get(used) ?? new Map<Certificates, ReturnType<typeof trust>>()
                spans.set(used, ofUsed)
                const [from, until] = ofUsed.get(serving) ?? trust(bundleOf(used), serving.serving.cert)
                ofUsed.set(serving, [from, until])
                if (now < from || now >= until) throw new Error(`not trusted at ${new Date(now).toISOString()}`)
              }
            }
            authorities.add(current.authority.cert)
            const isPublished = known === current && now - publishedSince >= lifetimes.settleMs
            if (now >= due || current.next) {
              current = rotate(current, { now, lifetimes, names: [name], isPublished })
            }
          }
          expect(authorities.size).toBeGreaterThanOrEqual(9)
        },
      ),
      { numRuns: 3 },
    )
  })
})
