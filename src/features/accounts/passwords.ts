import { AppError } from '../../core/errors.ts'

/** OWASP's minimum for argon2id: 19 MiB, two passes, about 20 ms. */
const OPTIONS = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
const MAX_WAITING = 32

export type Passwords = {
  hash(password: string): Promise<string>
  /** Does the same work whether or not there is a hash to compare with, and whatever the hash looks like. */
  verify(password: string, hash: string | null): Promise<boolean>
}

/**
 * Argon2id behind a gate of `parallel` hashers, so that a flood of sign-ins cannot starve the rest of the process.
 * @throws AppError `limited` from either call when too many wait already.
 */
export function createPasswords(parallel: number): Passwords {
  const waiting: (() => void)[] = []
  let busy = 0
  let dummyHash: Promise<string> | undefined

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy >= parallel) {
      if (waiting.length >= MAX_WAITING) throw new AppError('limited', 'Too many requests', { retryAfter: '1' })
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    busy++
    try {
      return await work()
    } finally {
      busy--
      waiting.shift()?.()
    }
  }

  return {
    hash: (password) => inTurn(() => Bun.password.hash(password, OPTIONS)),
    verify: (password, hash) =>
      inTurn(async () => {
        dummyHash ??= Bun.password.hash('nobody has this password', OPTIONS)
        return (await isMatch(password, hash ?? (await dummyHash))) && hash !== null
      }),
  }
}

/** A stored hash that cannot be read matches nothing: the account is closed to guesses, not broken for the caller. */
async function isMatch(password: string, hash: string): Promise<boolean> {
  try {
    return await Bun.password.verify(password, hash)
  } catch {
    return false
  }
}
