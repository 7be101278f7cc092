import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import type { Objects } from '../../../src/adapters/objects/objects.ts'
import { openObjects } from '../../../src/adapters/objects/open-objects.ts'
import { refuse, startS3 } from '../../harness/objects/s3-server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const LARGE_BYTES = 17_000_000

async function openBucket() {
  const s3 = await startS3()
  return { s3, objects: openObjects({ address: s3.address, s3: s3.settings }) }
}

const put = (objects: Objects, name: string, content: string | Uint8Array) =>
  objects.put(name, (file) => writeFile(file, content, { mode: 0o600 }))
const read = (objects: Objects, name: string) => objects.use(name, (file) => Bun.file(file).text())
const namesOf = async (objects: Objects, prefix: string) => (await objects.list(prefix)).map(({ name }) => name)
const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('stead-object-'))

describe.each(['folder', 'bucket'])('objects in a %s', (kind) => {
  test('put, list, use, read, move and remove change exactly the named objects', async () => {
    using folder = tempFolder()
    const bucket = kind === 'bucket' ? await openBucket() : null
    const objects = bucket?.objects ?? openObjects({ folder: folder.path })
    expect(await namesOf(objects, 'videos/')).toEqual([])
    await put(objects, 'videos/b.mp4', 'second')
    await put(objects, 'videos/a/1.mp4', 'first')
    await put(objects, 'videosx', 'other')
    await put(objects, 'videos/b.mp4', 'second again')
    expect(await objects.list('videos/')).toEqual([
      { name: 'videos/a/1.mp4', sizeBytes: 5 },
      { name: 'videos/b.mp4', sizeBytes: 12 },
    ])
    expect(await read(objects, 'videos/b.mp4')).toBe('second again')
    expect(await new Response(objects.read('videos/b.mp4', { start: 2, end: 6 })).text()).toBe('cond')
    expect([await objects.findSize('videos/a/1.mp4'), await objects.findSize('videos/a')]).toEqual([5, null])
    await expect(read(objects, 'videos/none')).rejects.toMatchObject({ kind: 'not_found' })
    await objects.move('videos/b.mp4', 'trash/b.mp4')
    await objects.move('videos/b.mp4', 'trash/c.mp4')
    expect(await namesOf(objects, 'trash/')).toEqual(['trash/b.mp4'])
    await objects.remove('videos/none')
    await objects.removeAll('videos/')
    expect(await namesOf(objects, 'videos/')).toEqual([])
    expect(await read(objects, 'videosx')).toBe('other')
    await bucket?.s3[Symbol.asyncDispose]()
  })

  test('put stores nothing and keeps the previous content when the file cannot be written', async () => {
    using folder = tempFolder()
    const bucket = kind === 'bucket' ? await openBucket() : null
    const objects = bucket?.objects ?? openObjects({ folder: folder.path })
    await put(objects, 'states/a', 'former')
    const fail = async (file: string) => {
      await writeFile(file, 'half')
      throw new Error('the disk is full')
    }
    await expect(objects.put('states/a', fail)).rejects.toThrow('the disk is full')
    await expect(objects.put('states/b', fail)).rejects.toThrow('the disk is full')
    expect(await namesOf(objects, 'states/')).toEqual(['states/a'])
    expect(await read(objects, 'states/a')).toBe('former')
    await bucket?.s3[Symbol.asyncDispose]()
  })
})

test('put throws the message of the server and keeps the previous content when a bucket refuses or is full', async () => {
  const { s3, objects } = await openBucket()
  await put(objects, 'states/a', 'former')
  const before = leftovers()
  const refusals = [
    [403, 'AccessDenied'],
    [507, 'QuotaExceeded'],
    [503, 'SlowDown'],
  ] as const
  for (const [status, code] of refusals) {
    s3.setFault(() => refuse(status, code))
    await expect(put(objects, 'states/a', 'later')).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(put(objects, 'states/a', 'later')).rejects.toThrow(code)
    for (const work of [
      () => objects.list('states/'),
      () => objects.findSize('states/a'),
      () => read(objects, 'states/a'),
    ])
      await expect(work()).rejects.toThrow(code)
  }
  // The storage becomes full during an upload of three parts.
  const isPart = ({ method, url }: Request) => method === 'PUT' && /partNumber=3\b/.test(url)
  s3.setFault((request) => (isPart(request) ? refuse(507, 'QuotaExceeded') : null))
  await expect(put(objects, 'states/a', randomBytes(LARGE_BYTES))).rejects.toThrow('QuotaExceeded')
  s3.setFault(() => null)
  expect(await read(objects, 'states/a')).toBe('former')
  expect(leftovers()).toEqual(before)
  await s3[Symbol.asyncDispose]()
}, 300_000)

test('put throws when the connection to a bucket breaks, and retries a refused part of a large object', async () => {
  const { s3, objects } = await openBucket()
  const content = randomBytes(LARGE_BYTES)
  let refusals = 2
  s3.setFault(({ method }) => (method === 'PUT' && refusals-- > 0 ? refuse(500, 'InternalError') : null))
  await put(objects, 'videos/large', content)
  s3.setFault(() => null)
  expect(
    await objects.use('videos/large', async (file) => Buffer.from(await Bun.file(file).bytes()).equals(content)),
  ).toBe(true)
  s3.setFault(() => 'reset')
  await expect(put(objects, 'videos/other', 'x')).rejects.toMatchObject({ kind: 'unavailable' })
  await s3[Symbol.asyncDispose]()
}, 300_000)
