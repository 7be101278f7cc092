import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { GIT, openSealed } from '../../../../tests/harness/rows/every-sealed-place.ts'
import { listSealedColumns } from '../../../../tests/harness/rows/sealed-values.ts'
import { createSealer, KEPT_KEYS } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import { gitCredentials } from '../../web-tools/browse/tables.ts'
import { readKeptKey } from './master-key.ts'
import { findClosed, listSealed, SEALED_COLUMNS, sealAgain } from './sealed-values.ts'

test('the list of encrypted columns names exactly the columns of the schema that are encrypted', async () => {
  await using it = await openSealed()
  const known = Object.values(SEALED_COLUMNS).map(({ table, column }) => `${table}.${column}`)
  expect(listSealedColumns(it.platform.db)).toEqual(known.sort())
})

test('an encrypted value is decrypted only in its own row and with the key of the installation', async () => {
  await using it = await openSealed()
  expect(findClosed(it.platform.db, it.platform.sealer)).toBeNull()
  expect(findClosed(it.platform.db, createSealer('another key than that'))).not.toBeNull()
})

test('a key rotation encrypts every value again; the old key decrypts none', async () => {
  await using it = await openSealed()
  const { db, sealer } = it.platform
  const other = createSealer('the key that takes its place')
  const readAll = (by: typeof sealer) =>
    [...listSealed(db)].map(({ purpose, sealed }): [string, string] => [purpose, by.unseal(sealed, purpose)])
  const [before, sealedBefore] = [readAll(sealer), [...listSealed(db)]]
  const keptBefore = KEPT_KEYS.map((name) => sealer.deriveKey(name))

  expect(await write(db, (tx) => sealAgain(tx, sealer, other))).toBe(before.length)

  expect(readAll(other)).toEqual(before)
  for (const { sealed, purpose } of listSealed(db)) expect(() => sealer.unseal(sealed, purpose)).toThrow()
  const values = new Set(sealedBefore.map(({ sealed }) => sealed))
  expect([...listSealed(db)].filter(({ sealed }) => values.has(sealed))).toEqual([])
  expect(KEPT_KEYS.map((name) => readKeptKey(db, other, name))).toEqual(keptBefore)
})

test('a key rotation names a value and changes nothing when the value cannot be decrypted', async () => {
  await using it = await openSealed()
  const { db, sealer } = it.platform
  await write(db, (tx) => tx.update(gitCredentials).set({ sealedPassword: 'v1.damaged' }).run())
  const rows = () => [...listSealed(db)]
  const before = rows()
  const workspace = db.select().from(gitCredentials).where(eq(gitCredentials.origin, GIT.origin)).get()?.workspace
  const again = write(db, (tx) => sealAgain(tx, sealer, createSealer('the key that takes its place')))
  await expect(again).rejects.toMatchObject({
    kind: 'invalid',
    message: `git_credentials:${workspace}:${GIT.origin} cannot be opened with the present key`,
  })
  expect(rows()).toEqual(before)
})
