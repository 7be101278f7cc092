import { expect, test } from 'bun:test'
import { orLate } from './race.ts'

test('orLate settles like the work when it ends in time', async () => {
  expect(await orLate(Promise.resolve(1), 60_000, 'late')).toBe(1)
  await expect(orLate(Promise.reject(new Error('broken')), 60_000, 'late')).rejects.toThrow('broken')
})

test('orLate ignores a result or failure when it comes too late', async () => {
  const { promise, reject } = Promise.withResolvers<number>()
  expect(await orLate(promise, 1, 'late')).toBe('late')
  reject(new Error('too late'))
  await expect(promise).rejects.toThrow('too late')
})
