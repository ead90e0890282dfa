import { createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { renderTemplates } from '../../engine/render-templates.ts'
import { bcryptHash } from './bcrypt.ts'
import { derivePassword } from './derive-password.ts'

function render(text: string): string {
  const source = { name: 'c/templates/a', text, basePath: 'c/templates', data: {} }
  const rendered = renderTemplates([source], {
    clock: { now: () => Date.UTC(2026, 0, 1) },
    generators: {
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
      generate: (_site, create) => create(),
    },
  })
  return rendered.get('c/templates/a')!
}

describe('generated certificates', () => {
  it('chain up to their authority, for the names and addresses asked for', () => {
    const text =
      '{{ $ca := genCA "ca" 10 }}{{ $c := genSignedCert "web" (list "10.0.0.1") (list "web.svc") 5 $ca }}' +
      '{{ list $ca.Cert $c.Cert $c.Key | toJson }}'
    const [authority, cert, key] = JSON.parse(render(text)) as [string, string, string]
    const [root, leaf] = [new X509Certificate(authority), new X509Certificate(cert)]
    expect(root.ca && root.verify(root.publicKey)).toBe(true)
    expect(leaf.checkIssued(root) && leaf.verify(root.publicKey)).toBe(true)
    expect(leaf.subject).toBe('CN=web')
    expect(leaf.subjectAltName).toBe('DNS:web.svc, IP Address:10.0.0.1')
    expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(leaf.validToDate.getTime()).toBe(Date.UTC(2026, 0, 6))
    expect(key).toContain('BEGIN RSA PRIVATE KEY')
  })

  it('sign with keys of other types', () => {
    const text = '{{ $k := genPrivateKey "ecdsa" }}{{ (genSelfSignedCertWithKey "a" nil nil 1 $k).Cert }}'
    const cert = new X509Certificate(render(text))
    expect(cert.verify(cert.publicKey)).toBe(true)
    expect(render('{{ genPrivateKey "ed25519" }}')).toContain('BEGIN PRIVATE KEY')
    expect(render('{{ genPrivateKey "nosuch" }}')).toBe('Unknown type nosuch')
  })

  it('fail for an address that is none', () => {
    expect(() => render('{{ genSelfSignedCert "a" (list "nine") nil 1 }}')).toThrow('error parsing ip: nine')
  })
})

describe('bcrypt', () => {
  it('gives the known hash', () => {
    const salt = Buffer.from('144b3d691a7b4ecf39cf735c7fa7a79c', 'hex')
    expect(bcryptHash(Buffer.from('U*U'), Buffer.from('10410410410410410410410410410410', 'hex'), 5)).toBe(
      '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    )
    expect(bcryptHash(Buffer.from(''), salt, 6)).toBe('$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.')
  })
})

describe('derived passwords', () => {
  it('are those of the algorithm', () => {
    expect(derivePassword(1, 'long', 'password', 'user', 'example.com')).toBe('ZedaFaxcZaso9*')
    expect(derivePassword(1, 'pin', 'password', 'user', 'example.com')).toBe('6685')
    expect(derivePassword(1, 'none', 'p', 'u', 's')).toBe('cannot find password template none')
  })
})
