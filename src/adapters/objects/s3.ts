import { S3Client } from 'bun'
import { AppError, errorMessage } from '../../core/errors.ts'

/** Connection settings; without an endpoint AWS in `region` is used. */
export type S3Settings = { endpoint: string | undefined; region: string; accessKeyId: string; secretAccessKey: string }
export type StoredObject = { name: string; sizeBytes: number }

/** Objects of one bucket below one prefix, named relative to it. Every method throws AppError `unavailable`. */
export type ObjectStore = {
  list(): Promise<StoredObject[]>
  /** Uploads a file in parts; the object appears only when all are uploaded. */
  put(name: string, file: string): Promise<void>
  read(name: string): ReadableStream<Uint8Array>
  remove(name: string): Promise<void>
  /** `s3://bucket/prefix/name` */
  locate(name: string): string
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/
const PART_BYTES = 8 * 1024 ** 2
/** Concurrency and retries per upload; uses at most 100 MB of memory. */
const PARTS = { partSize: PART_BYTES, queueSize: 2, retry: 3 }

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
    list: () => asked(address, () => listAll(client, prefix)),
    async put(name, file) {
      await asked(locate(name), () => client.file(toKey(name), PARTS).write(Bun.file(file)))
    },
    read: (name) => client.file(toKey(name)).stream(),
    async remove(name) {
      await asked(locate(name), () => client.delete(toKey(name)))
    },
    locate,
  }
}

async function listAll(client: S3Client, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  for (let startAfter: string | undefined; ; ) {
    const page = await client.list({ prefix, ...(startAfter && { startAfter }) })
    for (const { key, size = 0 } of page.contents ?? [])
      objects.push({ name: key.slice(prefix.length), sizeBytes: size })
    startAfter = page.contents?.at(-1)?.key
    if (!page.isTruncated || startAfter === undefined) return objects.filter(({ name }) => !name.includes('/'))
  }
}

async function asked<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toStoreError(what, error)
  }
}

/** Quotes the server's message and error code. */
export function toStoreError(what: string, error: unknown): AppError {
  const code = error instanceof Error && 'code' in error ? `${error.code}: ` : ''
  return new AppError('unavailable', `${what}: ${code}${errorMessage(error)}`, {}, { cause: error })
}
