import { expect, test } from 'bun:test'
import { inLanes } from './keyed-queue.ts'

test('inLanes runs at most `lanes` items at once, each once', async () => {
  let active = 0
  let most = 0
  const done: number[] = []
  await inLanes(
    Array.from({ length: 50 }, (_, index) => index),
    4,
    async (item) => {
      most = Math.max(most, ++active)
      await Promise.resolve()
      active--
      done.push(item)
    },
  )
  expect(most).toBeLessThanOrEqual(4)
  expect(done.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 50 }, (_, index) => index))
})

test('inLanes starts no further item and waits for running ones when its signal aborts', async () => {
  const stopping = new AbortController()
  const ended: number[] = []
  const begun: number[] = []
  const work = async (item: number) => {
    begun.push(item)
    if (item === 7) stopping.abort()
    await Promise.resolve()
    ended.push(item)
  }
  await inLanes(Array(100_000).keys(), 3, work, stopping.signal)
  expect(begun.length).toBeLessThan(12)
  expect(ended).toEqual(begun)
})
