import { expect, test } from 'bun:test'
import { createPasswords, PASSWORD_COST } from './passwords.ts'

test('hash uses the parameters of OWASP, and verify accepts only the right password', async () => {
  const { hash, verify } = createPasswords(1, PASSWORD_COST)
  const stored = await hash('correct horse')
  expect(stored).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  expect(await verify('correct horse', stored)).toBe(true)
  expect(await verify('Correct horse', stored)).toBe(false)
  expect(await verify('correct horse\0', stored)).toBe(false)
})

test.each([null, '', 'no hash at all', '$argon2id$v=19$m=19456,t=2,p=1$', '$2b$10$short'])(
  'verify returns false when the stored hash is %p, and takes as long as always',
  async (stored) => {
    const passwords = createPasswords(1, PASSWORD_COST)
    expect(await passwords.verify('correct horse', stored)).toBe(false)
    expect(passwords.calls).toBe(1)
  },
)

test('verify accepts hashes with other parameters and algorithms, and reports them as outdated', async () => {
  const passwords = createPasswords(1, PASSWORD_COST)
  const password = 'correct horse'
  for (const options of [
    { algorithm: 'bcrypt', cost: 4 },
    { algorithm: 'argon2id', memoryCost: 8, timeCost: 2 },
    { algorithm: 'argon2i', memoryCost: 19_456, timeCost: 2 },
  ] as const) {
    const old = await Bun.password.hash(password, options)
    expect(await passwords.verify(password, old)).toBe(true)
    expect(passwords.isOutdated(old)).toBe(true)
  }
  expect(passwords.isOutdated(await passwords.hash(password))).toBe(false)
})

test('hash serves 32 waiting requests and rejects further ones at once', async () => {
  const { verify } = createPasswords(2, PASSWORD_COST)
  const all = await Promise.allSettled(Array.from({ length: 50 }, () => verify('x', null)))
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(34)
  for (const outcome of all.slice(34)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'limited', extra: { retryAfter: '1' } } })
  }
  expect(await verify('x', null)).toBe(false)
})

test('admit accepts as many requests as run and wait, and refuses the next before they begin', async () => {
  const { admit } = createPasswords(2, PASSWORD_COST)
  let begun = 0
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>()
  const ask = () =>
    admit(async () => {
      begun++
      await gate
    })
  const first = Array.from({ length: 34 }, ask)
  expect(await ask().catch((error: unknown) => error)).toMatchObject({ kind: 'limited', extra: { retryAfter: '1' } })
  expect(begun).toBe(34)
  openGate()
  await Promise.all(first)
  await expect(admit(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await Promise.all(Array.from({ length: 34 }, ask))
})
