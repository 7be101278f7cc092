import { createHmac, randomInt } from 'node:crypto'
import { and, eq, gt, isNull, lt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { FindUserById } from '../../../http/internal-key.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { newAccessToken } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { saveInstallation } from './machine-agent.ts'
import type { PairRequest } from './schemas.ts'
import { pairingCodes } from './tables.ts'
import { requireVersion } from './versions.ts'

/** Digits and letters without 0, O, 1, I, L and U, which are easily confused. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_LENGTH = 8
/** Unused codes of one user at a time. */
const MAX_OPEN_CODES = 10
/** Expired and used codes are kept for this long, to say so to a late machine. */
const KEPT_MS = 24 * 60 * 60_000

/** A new code as shown once to its owner, in the form `ABCD-EFGH`. */
type NewPairingCode = { code: string; expiresAt: Date }

/** Creates a one-time code for a machine of the user. @throws AppError `limited` at 10 unused codes. */
export async function createPairingCode(
  deps: Base & { pairingCodeMinutes: number },
  userId: string,
): Promise<NewPairingCode> {
  const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  const id = newId('pcd')
  const createdAt = deps.clock.now()
  const expiresAt = new Date(createdAt.getTime() + deps.pairingCodeMinutes * 60_000)
  await write(deps.db, (tx) => {
    const isOpen = and(
      eq(pairingCodes.userId, userId),
      isNull(pairingCodes.usedAt),
      gt(pairingCodes.expiresAt, createdAt),
    )
    const current = countRows(tx, pairingCodes, isOpen)
    requireQuota({ current, limit: MAX_OPEN_CODES, message: 'Too many unused pairing codes: wait until they expire' })
    tx.insert(pairingCodes)
      .values({ id, userId, codeHash: hashCode(deps.sealer, code), createdAt, expiresAt })
      .run()
  })
  return { code: `${code.slice(0, 4)}-${code.slice(4)}`, expiresAt }
}

/** Credentials of a paired machine. `token` is its agent's: it opens the tunnel and calls models, nothing else. */
type Paired = { installationId: string; agentId: string; userId: string; name: string; token: string }

/**
 * Exchanges a code once for the credentials of a machine. A machine of the same name gets a new token, and the old one
 * becomes invalid.
 * @throws AppError `invalid` PAIRING_CODE_UNKNOWN, `conflict` PAIRING_CODE_USED or PAIRING_CODE_EXPIRED,
 * VERSION_UNSUPPORTED, `limited` at 50 machines.
 */
export async function pairMachine(
  deps: Base & { findUser: FindUserById; version: string },
  { code, ...machine }: PairRequest,
): Promise<Paired> {
  requireVersion(machine.version, deps.version)
  const now = deps.clock.now()
  const codeHash = hashCode(deps.sealer, code)
  return write(deps.db, (tx) => {
    const userId = useCode(tx, codeHash, now)
    if (!deps.findUser(userId)) throw unknownCode()
    const { id, agentId, name } = saveInstallation(deps, tx, { ...machine, userId })
    if (agentId === null) throw new AppError('internal', 'The machine has no agent')
    const access = newAccessToken(deps.sealer, agentId)
    tx.update(agents).set(access).where(eq(agents.id, agentId)).run()
    const token = deps.sealer.unseal(access.accessToken, `agents:accessToken:${agentId}`)
    return { installationId: id, agentId, userId, name, token }
  })
}

/** Marks the code as used. @returns its user. @throws AppError as `pairMachine`. */
function useCode(tx: Tx, codeHash: string, now: Date): string {
  const row = tx.select().from(pairingCodes).where(eq(pairingCodes.codeHash, codeHash)).get()
  if (!row) throw unknownCode()
  if (row.usedAt !== null) {
    const message = 'This pairing code was already used: create a new one'
    throw new AppError('conflict', message, { code: 'PAIRING_CODE_USED' })
  }
  if (row.expiresAt <= now) {
    const message = 'This pairing code has expired: create a new one'
    throw new AppError('conflict', message, { code: 'PAIRING_CODE_EXPIRED' })
  }
  tx.update(pairingCodes).set({ usedAt: now }).where(eq(pairingCodes.id, row.id)).run()
  return row.userId
}

function unknownCode(): AppError {
  return new AppError('invalid', 'This pairing code does not exist: check it, or create a new one', {
    code: 'PAIRING_CODE_UNKNOWN',
  })
}

/** Keyed, because 40 bits could be guessed from a plain hash. */
function hashCode(sealer: Sealer, code: string): string {
  return createHmac('sha256', sealer.deriveKey('pairing-codes')).update(code).digest('hex')
}

/** Deletes codes that ended a day ago. */
export function pairingCodesJob({ db, clock }: Base): RepeatingJob {
  const run = async () => {
    const isOld = lt(pairingCodes.expiresAt, new Date(clock.now().getTime() - KEPT_MS))
    if (!db.select({ id: pairingCodes.id }).from(pairingCodes).where(isOld).get()) return
    await write(db, (tx) => tx.delete(pairingCodes).where(isOld).run())
  }
  return { name: 'installations.codes', everyMs: 60 * 60_000, run }
}
