import type { Context } from 'hono'
import { AppError } from '../../core/errors.ts'
import type { WebEnv } from '../env.ts'
import { type Pieces, sendPieces } from './send-pieces.ts'

/** Limits exports to one per account at a time; one instance per process. */
export type Exports = {
  /**
   * @returns a function that ends the export.
   * @throws AppError `limited` EXPORT_RUNNING during another export of the account.
   */
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

/** The content and file name of an export. */
type ExportFile = Pieces & { name: string }

/**
 * Streams a generated file; one per account at a time.
 * @throws AppError `limited` EXPORT_RUNNING, and what `openFile` throws, before the first byte.
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
