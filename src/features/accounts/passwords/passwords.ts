import { AppError } from '../../../core/errors.ts'
import text from './common-passwords.txt' with { type: 'text' }

/** What one hash of argon2id takes: `memoryCost` in KiB, `timeCost` in passes over them. */
export type PasswordCost = Readonly<{ memoryCost: number; timeCost: number }>

/** OWASP's minimum for argon2id: 19 MiB, two passes, about 20 ms. No setting lowers it. */
export const PASSWORD_COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 }
const MAX_WAITING = 32

export type Passwords = {
  hash(password: string): Promise<string>
  /** Does the same work whether or not there is a hash to compare with, and whatever the hash looks like. */
  verify(password: string, hash: string | null): Promise<boolean>
  /** Was it made with other parameters than today's? */
  isOutdated(hash: string): boolean
  /**
   * Runs `work`, which will ask the hasher, unless as many are under way as may wait for it: a flood of sign-ins does not
   * reach the database. @throws AppError `limited`, or what `work` throws.
   */
  admit<T>(work: () => Promise<T>): Promise<T>
  /** Lets a route refuse before a body is read or a rate counted. @throws AppError `limited` when nothing is admitted now. */
  requireHashingCapacity(): void
  /** How often the hasher has worked: two paths that cost the same raise it by the same. */
  readonly calls: number
}

/**
 * Argon2id behind a gate of `parallel` hashers, so that a flood of sign-ins cannot starve the rest of the process. Whatever
 * keeps real accounts hands in `PASSWORD_COST`. @throws AppError `limited` when too many wait already.
 */
export function createPasswords(parallel: number, cost: PasswordCost): Passwords {
  const prefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=1$`
  const nobodysHash = toNobodysHash(prefix)
  const waiting: (() => void)[] = []
  let admitted = 0
  let busy = 0
  let calls = 0

  const requireHashingCapacity = () => {
    if (admitted >= parallel + MAX_WAITING) throw tooMany()
  }

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy < parallel) busy++
    else {
      if (waiting.length >= MAX_WAITING) throw tooMany()
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    calls++
    try {
      return await work()
    } finally {
      // The place goes straight to the next in line: whoever comes in between must not take it.
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }

  return {
    hash: (password) => inTurn(() => Bun.password.hash(password, { algorithm: 'argon2id', ...cost })),
    verify: (password, hash) =>
      inTurn(async () => (await isMatch(password, hash ?? nobodysHash, nobodysHash)) && hash !== null),
    isOutdated: (hash) => !hash.startsWith(prefix),
    requireHashingCapacity,
    async admit(work) {
      requireHashingCapacity()
      admitted++
      try {
        return await work()
      } finally {
        admitted--
      }
    },
    get calls() {
      return calls
    },
  }
}

/** A hash of the parameters of `prefix` that no known password has. */
function toNobodysHash(prefix: string): string {
  return `${prefix}${'N'.repeat(42)}A$${'Q'.repeat(42)}A`
}

function tooMany(): AppError {
  return new AppError('limited', 'Too many requests', { retryAfter: '1' })
}

/** A stored hash that cannot be read matches nothing: the account is closed to guesses, not broken for the caller. */
async function isMatch(password: string, hash: string, nobodysHash: string): Promise<boolean> {
  try {
    return await Bun.password.verify(password, hash)
  } catch {
    await Bun.password.verify(password, nobodysHash)
    return false
  }
}

let common: Set<string> | undefined

/**
 * Refuses the 10,000 passwords of at least 8 characters that are guessed first, in whatever case they are written.
 * @throws AppError `invalid`.
 */
export function requireUncommon(password: string): void {
  common ??= new Set(listCommonPasswords())
  if (common.has(password.normalize('NFKC').toLowerCase())) throw new AppError('invalid', 'Password is too common')
}

/** In lower case, the most common first. The file begins with its licence; an empty line ends that. */
export function listCommonPasswords(): string[] {
  return text
    .slice(text.indexOf('\n\n') + 2)
    .trimEnd()
    .split('\n')
}
