import type { Context } from 'hono'
import { AppError } from '../../core/errors.ts'
import type { WebEnv } from '../env.ts'
import { type Pieces, sendPieces } from './send-pieces.ts'

/** Who is being sent an export. One for the whole platform. */
export type Exports = {
  /** @returns what ends it. @throws AppError `limited` EXPORT_RUNNING while another one of the account is sent. */
  begin(userId: string): () => void
}

export function createExports(): Exports {
  const underWay = new Set<string>()
  return {
    begin(userId) {
      if (underWay.has(userId)) {
        const message = 'An export of this account is being sent already. Wait until it has ended.'
        throw new AppError('limited', message, { code: 'EXPORT_RUNNING' })
      }
      underWay.add(userId)
      return () => void underWay.delete(userId)
    },
  }
}

/** What is sent, and the name under which it is saved. */
type ExportFile = Pieces & { name: string }

/**
 * Answers with a file that is made while it is sent; each account can have one under way.
 * @throws AppError `limited` EXPORT_RUNNING, and whatever `openFile` throws, before the first byte.
 */
export async function sendExport<Env extends WebEnv>(
  c: Context<Env>,
  deps: Parameters<typeof sendPieces>[1] & { exports: Exports },
  openFile: () => ExportFile | Promise<ExportFile>,
): Promise<Response> {
  const release = deps.exports.begin(c.var.user.id)
  try {
    const { name, ...file } = await openFile()
    c.header('content-disposition', `attachment; filename="${name}"`)
    return sendPieces(c, deps, file, release)
  } catch (error) {
    release()
    throw error
  }
}
