import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { AppError, errorMessage } from '../../core/errors.ts'

/** What every file of the age format begins with (https://age-encryption.org/v1). */
const AGE_HEADER = 'age-encryption.org/v1\n'

/** To what power of two scrypt works at a passphrase: what `age -p` takes, about a second of a fast machine. */
const SCRYPT_WORK_FACTOR = 18

export type Seal = (chunks: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>

/** What goes through it comes out sealed with `passphrase`, piece by piece, as `age -p` does; null leaves it as it is. */
export function createSeal(passphrase: string | null, scryptWorkFactor = SCRYPT_WORK_FACTOR): Seal {
  return async function* (chunks) {
    if (passphrase === null) return yield* chunks
    const { Encrypter } = await import('age-encryption')
    const encrypter = new Encrypter()
    encrypter.setPassphrase(passphrase)
    encrypter.setScryptWorkFactor(scryptWorkFactor)
    yield* await encrypter.encrypt(toStream(chunks))
  }
}

export async function isSealed(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE_HEADER.length), 0, AGE_HEADER.length, 0)
    return buffer.toString('utf8', 0, bytesRead) === AGE_HEADER
  } finally {
    await handle.close()
  }
}

/**
 * What a backup holds, from its beginning and `maxBytes` of the file at most, sealed or not.
 * @throws AppError `invalid` when it is sealed and `passphrase` does not open it, or is not given.
 */
export async function openBackup(file: string, passphrase: string | null, maxBytes = Infinity): Promise<Readable> {
  const whole = Bun.file(file)
  const bytes = (maxBytes === Infinity ? whole : whole.slice(0, maxBytes)).stream()
  if (!(await isSealed(file))) return Readable.from(bytes)
  if (passphrase === null) throw new AppError('invalid', 'it is sealed: set BACKUP_PASSPHRASE_FILE to open it')
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  try {
    return Readable.from(await decrypter.decrypt(bytes))
  } catch (error) {
    const isOther = errorMessage(error).includes('no identity matched')
    throw new AppError(
      'invalid',
      isOther
        ? 'the passphrase is not the one that it was sealed with'
        : `its seal is damaged (${errorMessage(error)})`,
      {},
      { cause: error },
    )
  }
}

function toStream(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
