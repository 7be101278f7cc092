import { S3Client } from 'bun'
import { AppError, errorMessage } from '../../core/errors.ts'

/** How a server that speaks S3 is reached; without an endpoint that of AWS in `region`. */
export type S3Settings = { endpoint: string | undefined; region: string; accessKeyId: string; secretAccessKey: string }
export type StoredObject = { name: string; sizeBytes: number }

/** The objects of one bucket below one prefix, by their names without it. Every call throws AppError `unavailable`. */
export type ObjectStore = {
  list(): Promise<StoredObject[]>
  /** Sends a file in parts; there is no object of this name before all of them have come. */
  put(name: string, file: string): Promise<void>
  read(name: string): ReadableStream<Uint8Array>
  remove(name: string): Promise<void>
  /** `s3://bucket/prefix/name` */
  locate(name: string): string
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/
const PART_BYTES = 8 * 1024 ** 2
/** Parts of one file under way at once, and how often one is sent again: 100 MB of memory at most. */
const PARTS = { partSize: PART_BYTES, queueSize: 2, retry: 3 }

/** The bucket and the prefix, which has no slash at either end; null for what is no `s3://bucket/prefix`. */
export function readObjectAddress(address: string): { bucket: string; prefix: string } | null {
  const [, bucket, prefix = ''] = ADDRESS.exec(address) ?? []
  return bucket === undefined ? null : { bucket, prefix }
}

/** @throws AppError `invalid` for an address that is none. */
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

/** What the server said, with its own name for it. */
export function toStoreError(what: string, error: unknown): AppError {
  const code = error instanceof Error && 'code' in error ? `${error.code}: ` : ''
  return new AppError('unavailable', `${what}: ${code}${errorMessage(error)}`, {}, { cause: error })
}
