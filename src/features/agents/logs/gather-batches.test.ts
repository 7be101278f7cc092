import { expect, test } from 'bun:test'
import { gatherBatches } from './follow.ts'

/** Yields numbers as fast as they are read, then nothing until `signal` aborts. */
async function* count(to: number, taken: number[], signal: AbortSignal) {
  for (let number = 1; number <= to; number += 1) {
    taken.push(number)
    yield number
  }
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

test('gatherBatches groups simultaneous items in order and delays no batch', async () => {
  const session = new AbortController()
  const batches = gatherBatches(count(5, [], session.signal), { gatherMs: 20, maxItems: 100, session })
  expect((await batches.next()).value).toEqual([1, 2, 3, 4, 5])
  await batches.return()
})

test('gatherBatches stops reading when a batch is full', async () => {
  const session = new AbortController()
  const taken: number[] = []
  const batches = gatherBatches(count(1000, taken, session.signal), { gatherMs: 60, maxItems: 10, session })
  const startedAt = performance.now()
  await batches.next()
  await batches.next()
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(110)
  expect(taken.length).toBeLessThanOrEqual(21)
  await batches.return()
})

test('gatherBatches ends a silent source when the reader fails', async () => {
  const session = new AbortController()
  const reading = async () => {
    for await (const _batch of gatherBatches(count(1, [], session.signal), { gatherMs: 1, maxItems: 10, session })) {
      throw new Error('the disk is full')
    }
  }
  expect(await reading().catch((error: unknown) => error)).toMatchObject({ message: 'the disk is full' })
  expect(session.signal.aborted).toBe(true)
})

test('gatherBatches throws when the source throws', async () => {
  const session = new AbortController()
  const failing = async function* () {
    yield 1
    throw new Error('the engine went away')
  }
  const reading = Array.fromAsync(gatherBatches(failing(), { gatherMs: 1, maxItems: 10, session }))
  expect(await reading.catch((error: unknown) => error)).toMatchObject({ message: 'the engine went away' })
})
