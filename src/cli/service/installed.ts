import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { findManager } from './manager.ts'
import type { InstalledService } from './unit.ts'
import { describeUncovered, findUnwritable, listUncovered, listWritePaths, type WritePath } from './write-paths.ts'

type Installed = InstalledService & { isOfUser: boolean }

/** Returns the service that is installed on this data folder; null without one. */
export function findInstalledOn(dataDir: string): Installed | null {
  for (const isOfUser of [false, true]) {
    const service = findInstalled(isOfUser)
    if (service && resolve(service.dataDir) === resolve(dataDir)) return { ...service, isOfUser }
  }
  return null
}

function findInstalled(isOfUser: boolean): InstalledService | null {
  try {
    return findManager(isOfUser).findInstalled()
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/**
 * Returns the paths in the settings that the service cannot write, with the reason, and its user if only root could
 * test that user's rights. Without an installed service, tests the present user.
 */
export function testWritePaths(config: Config): {
  problems: { path: WritePath; text: string }[]
  untested: string | null
} {
  const installed = findInstalledOn(config.dataDir)
  const user = installed === null || installed.user === userInfo().username ? null : installed.user
  const untested = user !== null && process.getuid?.() !== 0 ? user : null
  const paths = listWritePaths(config)
  const dataPath: WritePath = { setting: 'DATA_DIR', folder: config.dataDir, file: null }
  const uncovered = installed?.writePaths ? listUncovered(paths, installed.writePaths) : []
  const unwritable = (path: WritePath) => (untested === null ? findUnwritable(path, user) : null)
  const problems = [dataPath, ...paths].flatMap((path) => {
    const text = uncovered.includes(path) ? describeUncovered(path, installed?.isOfUser) : unwritable(path)
    return text === null ? [] : [{ path, text }]
  })
  return { problems, untested }
}
