import { S3Client } from 'bun'
import { AppError, errorMessage } from '../../core/errors.ts'

/** Connection settings; without an endpoint AWS in `region` is used. */
export type S3Settings = { endpoint: string | undefined; region: string; accessKeyId: string; secretAccessKey: string }
export type StoredObject = { name: string; sizeBytes: number }

/** Objects of one bucket below one prefix, named relative to it. Every method throws AppError `unavailable`. */
export type ObjectStore = {
  /** Lists the objects whose names contain no further slash. */
  list(): Promise<StoredObject[]>
  /** Lists every object below a prefix. */
  listBelow(below: string): Promise<StoredObject[]>
  /** Returns the size in bytes; null for a missing object. */
  findSize(name: string): Promise<number | null>
  /** Uploads a file in parts; the object appears only when all are uploaded. */
  put(name: string, file: string): Promise<void>
  /** Returns the content, or the bytes from `start` up to `end`, exclusive. */
  read(name: string, range?: { start: number; end: number }): ReadableStream<Uint8Array>
  remove(name: string): Promise<void>
  /** `s3://bucket/prefix/name` */
  locate(name: string): string
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/
const PART_BYTES = 8 * 1024 ** 2
/** Concurrency and retries per upload; uses at most 100 MB of memory. */
const PARTS = { partSize: PART_BYTES, queueSize: 2, retry: 3 }

/** Time for an answer without content. */
const ANSWER_MS = 30_000
/** Time without a byte after which a download fails. */
const IDLE_MS = 60_000
/** Uploads slower than this fail. */
const MIN_BYTES_PER_MS = 100

/** Parses `s3://bucket/prefix` and trims slashes; returns null for another form. */
export function readObjectAddress(address: string): { bucket: string; prefix: string } | null {
  const [, bucket, prefix = ''] = ADDRESS.exec(address) ?? []
  return bucket === undefined ? null : { bucket, prefix }
}

/** @throws AppError `invalid` for a malformed address. */
export function openObjectStore(address: string, settings: S3Settings): ObjectStore {
  const place = readObjectAddress(address)
  if (!place) throw new AppError('invalid', `${address} is no s3://bucket/prefix`)
  const { endpoint, ...credentials } = settings
  const client = new S3Client({ ...credentials, ...(endpoint && { endpoint }), bucket: place.bucket })
  const prefix = place.prefix === '' ? '' : `${place.prefix}/`
  const toKey = (name: string) => `${prefix}${name}`
  const locate = (name: string) => `s3://${place.bucket}/${toKey(name)}`
  return {
    async list() {
      const objects = await listAll(client, { address, prefix, below: '' })
      return objects.filter(({ name }) => !name.includes('/'))
    },
    listBelow: (below) => listAll(client, { address, prefix, below }),
    findSize: (name) => asked(locate(name), ANSWER_MS, () => findSize(client, toKey(name))),
    async put(name, file) {
      const limitMs = ANSWER_MS + Bun.file(file).size / MIN_BYTES_PER_MS
      await asked(locate(name), limitMs, () => client.file(toKey(name), PARTS).write(Bun.file(file)))
    },
    read(name, range) {
      const object = client.file(toKey(name))
      return withoutPauses(locate(name), (range ? object.slice(range.start, range.end) : object).stream())
    },
    async remove(name) {
      await asked(locate(name), ANSWER_MS, () => client.delete(toKey(name)))
    },
    locate,
  }
}

/** Lists the key, because the answer to HEAD has no body that says why a server refuses. */
async function findSize(client: S3Client, key: string): Promise<number | null> {
  const [first] = (await client.list({ prefix: key, maxKeys: 1 })).contents ?? []
  return first?.key === key ? (first.size ?? 0) : null
}

type Listing = { address: string; prefix: string; below: string }

async function listAll(client: S3Client, { address, prefix, below }: Listing): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  for (let startAfter: string | undefined; ; ) {
    const question = { prefix: `${prefix}${below}`, ...(startAfter && { startAfter }) }
    const page = await asked(address, ANSWER_MS, () => client.list(question))
    for (const { key, size = 0 } of page.contents ?? [])
      objects.push({ name: key.slice(prefix.length), sizeBytes: size })
    startAfter = page.contents?.at(-1)?.key
    if (!page.isTruncated || startAfter === undefined) return objects.sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

/** Fails a stream that sends nothing for a minute. */
function withoutPauses(what: string, stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await asked(what, IDLE_MS, () => reader.read())
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** @throws AppError `unavailable` after `limitMs` without a result. */
async function asked<T>(what: string, limitMs: number, work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const seconds = Math.round(limitMs / 1000)
  const timer = setTimeout(() => reject(new Error(`the server did not answer within ${seconds} s`)), limitMs)
  try {
    return await Promise.race([work(), late])
  } catch (error) {
    throw toStoreError(what, error)
  } finally {
    clearTimeout(timer)
  }
}

/** Quotes the server's message and error code. */
export function toStoreError(what: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? `${error.code}: ` : ''
  return new AppError('unavailable', `${what}: ${code}${errorMessage(error)}`, {}, { cause: error })
}
