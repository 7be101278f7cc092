import { expect, test } from 'bun:test'
import { capturedLog } from '../../tests/harness/log.ts'
import { pause, startRunner } from './runner.ts'

test('a repeating job does not overlap itself, however long a run takes', async () => {
  let active = 0
  let most = 0
  let runs = 0
  const enough = Promise.withResolvers<void>()
  const run = async () => {
    most = Math.max(most, ++active)
    await new Promise((resolve) => setTimeout(resolve, 5))
    active--
    if (++runs === 5) enough.resolve()
  }
  const stop = startRunner([{ name: 'slow', everyMs: 1, run }], capturedLog().log)
  await enough.promise
  await stop()
  expect(most).toBe(1)
})

test('a repeating job does not wait for another', async () => {
  const never = Promise.withResolvers<void>()
  const other = Promise.withResolvers<void>()
  const stop = startRunner(
    [
      { name: 'stuck', everyMs: 1, run: () => never.promise },
      { name: 'quick', everyMs: 1, run: async () => other.resolve() },
    ],
    capturedLog().log,
  )
  await other.promise
  never.resolve()
  await stop()
})

test('a repeating job is logged and runs again when it fails', async () => {
  const { log, lines } = capturedLog()
  const third = Promise.withResolvers<void>()
  let runs = 0
  const run = async () => {
    if (++runs === 3) third.resolve()
    throw new Error(`failure ${runs}`)
  }
  const stop = startRunner([{ name: 'failing', everyMs: 1, run }], log)
  await third.promise
  await stop()
  expect(lines.slice(0, 2)).toMatchObject([
    { job: 'failing', error: 'failure 1' },
    { job: 'failing', error: 'failure 2' },
  ])
})

test('stop aborts and awaits the current run and not the next', async () => {
  const idle = startRunner([{ name: 'rare', everyMs: 3_600_000, run: async () => undefined }], capturedLog().log)
  await idle()

  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  let wasAborted = false
  const run = async (signal: AbortSignal) => {
    begun.resolve()
    await release.promise
    wasAborted = signal.aborted
  }
  const stop = startRunner([{ name: 'busy', everyMs: 1, run }], capturedLog().log)
  await begun.promise
  let hasStopped = false
  const stopped = stop().then(() => {
    hasStopped = true
  })
  await Promise.resolve()
  expect(hasStopped).toBe(false)
  release.resolve()
  await stopped
  expect(wasAborted).toBe(true)
})

test('a run is no failure when the stop interrupts it', async () => {
  const { log, lines } = capturedLog()
  const begun = Promise.withResolvers<void>()
  const run = async (signal: AbortSignal) => {
    begun.resolve()
    await pause(600_000, signal)
    signal.throwIfAborted()
  }
  const stop = startRunner([{ name: 'long', everyMs: 1, run }], log)
  await begun.promise
  await stop()
  expect(lines).toEqual([])
})

test('pause ends at once when its signal aborts, before or during', async () => {
  await pause(3_600_000, AbortSignal.abort())
  const controller = new AbortController()
  const paused = pause(3_600_000, controller.signal)
  controller.abort()
  await paused
})

test('startRunner runs an hourly job soon after the start, and then waits for its interval', async () => {
  const first = Promise.withResolvers<void>()
  let runs = 0
  const run = async () => {
    runs++
    first.resolve()
  }
  const stop = startRunner([{ name: 'hourly', everyMs: 3_600_000, run }], capturedLog().log, 5)
  await first.promise
  await pause(50, new AbortController().signal)
  await stop()
  expect(runs).toBe(1)
})
