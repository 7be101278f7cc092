import { afterAll, describe, expect, test } from 'bun:test'
import { EMPTY_LAYER, startRegistry } from '../../../../tests/harness/doubles/registry.ts'
import { findEngine } from '../../../../tests/harness/engines/engine.ts'
import { until } from '../../../../tests/harness/until.ts'
import { orNull } from './engine.ts'
import { hasImage, type PullLimits, pullImage } from './images.ts'

const found = await findEngine()
const AGENT = { 'stead.runtime': 'stead', 'stead.runtimeVersion': '9' }
const GIGABYTE = 1024 ** 3
const LIMITS: PullLimits = { maxBytes: GIGABYTE, maxMs: 60_000, maxSilenceMs: 60_000 }

describe.skipIf(!found)('pullImage', async () => {
  if (!found) return
  const { engine, docker } = found
  const registry = await startRegistry()
  const fetched: string[] = []
  const pull = (name: string, limits: Partial<PullLimits> = {}, signal = new AbortController().signal) => {
    const reference = `${registry.host}/${name}`
    fetched.push(reference)
    return pullImage(engine, reference, () => {}, signal, { ...LIMITS, ...limits })
  }

  afterAll(async () => {
    for (const reference of fetched) await orNull(docker.getImage(reference).remove())
    registry[Symbol.dispose]()
  })

  test('pulls the image of an agent once', async () => {
    registry.offer('agent', '1', { labels: AGENT, layers: [EMPTY_LAYER] })
    await pull('agent:1')
    const asked = registry.requests.length
    await pull('agent:1')
    expect(registry.requests.length).toBe(asked)
  })

  test('removes an image when it is no agent', async () => {
    registry.offer('other', '1', { labels: { 'org.example': 'x' }, layers: [EMPTY_LAYER] })
    await expect(pull('other:1')).rejects.toMatchObject({ kind: 'invalid' })
    expect(await hasImage(engine, `${registry.host}/other:1`)).toBe(false)
  })

  test('throws IMAGE_NOT_FOUND when the registry does not have the image', async () => {
    await expect(pull('nobody:1')).rejects.toMatchObject({ extra: { code: 'IMAGE_NOT_FOUND' } })
  })

  test('aborts the pull in the engine when the layers exceed the limit', async () => {
    registry.offer('large', '1', { labels: AGENT, layers: [2 * GIGABYTE] })
    await expect(pull('large:1')).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/too large/),
    })
    await until('the engine has given it up', () => registry.waiting() === 0)
  })

  test.each([{ maxMs: 500 }, { maxSilenceMs: 500 }])('aborts the pull when it receives %o', async (limits) => {
    registry.offer('slow', '1', { labels: AGENT, layers: [GIGABYTE / 2] })
    await expect(pull('slow:1', limits)).rejects.toMatchObject({ kind: 'unavailable' })
    await until('the engine has given it up', () => registry.waiting() === 0)
  })

  test('waits when an earlier pull is running', async () => {
    registry.offer('first', '1', { labels: AGENT, layers: [GIGABYTE / 2] })
    registry.offer('second', '1', { labels: AGENT, layers: [EMPTY_LAYER] })
    const first = pull('first:1', { maxMs: 1000 })
    await until('the first one is under way', () => registry.waiting() === 1)
    const second = pull('second:1')
    const isSecondAsked = () => registry.requests.some((path) => path.includes('/second/'))
    const whenFirstEnds = await first.then(isSecondAsked, isSecondAsked)
    await expect(first).rejects.toMatchObject({ kind: 'unavailable' })
    await second
    expect([whenFirstEnds, isSecondAsked()]).toEqual([false, true])
  })

  test('ends when its caller aborts, and does not delay the next pull', async () => {
    registry.offer('left', '1', { labels: AGENT, layers: [GIGABYTE / 2] })
    const leaving = new AbortController()
    const left = pull('left:1', {}, leaving.signal)
    await until('it is under way', () => registry.waiting() === 1)
    const next = pull('nobody:2')
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await expect(next).rejects.toMatchObject({ extra: { code: 'IMAGE_NOT_FOUND' } })
  })
})
