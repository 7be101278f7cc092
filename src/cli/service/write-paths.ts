import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { Config } from '../../core/config.ts'
import { errorMessage } from '../../core/errors.ts'

/** A writable folder outside of the data folder that a setting requires; `file` is the file in it, if any. */
export type WritePath = { setting: string; folder: string; file: string | null }

type PathSettings = Pick<Config, 'dataDir' | 'databaseFile' | 'logFile' | 'browseRoot'> & {
  backups: Pick<Config['backups'], 'to'>
}

/** Lists the writable folders outside of `DATA_DIR` that the settings require. */
export function listWritePaths({ dataDir, databaseFile, logFile, browseRoot, backups }: PathSettings): WritePath[] {
  const paths: WritePath[] = [
    { setting: 'DATABASE_URL', folder: dirname(databaseFile), file: databaseFile },
    ...(backups.to.startsWith('s3://') ? [] : [{ setting: 'BACKUP_TO', folder: backups.to, file: null }]),
    ...(logFile === undefined ? [] : [{ setting: 'LOG_FILE', folder: dirname(logFile), file: logFile }]),
    { setting: 'BROWSE_ROOT', folder: browseRoot, file: null },
  ]
  return paths.filter(({ folder }) => !isWithin(dataDir, folder))
}

function isWithin(parent: string, path: string): boolean {
  const rest = relative(parent, path)
  return rest === '' || (!rest.startsWith('..') && !rest.startsWith('/'))
}

/**
 * Returns why `user` (null: the present one) cannot write to a folder; null when it can. A missing folder is judged by
 * its nearest existing parent.
 */
export function findUnwritable({ setting, folder, file }: WritePath, user: string | null = null): string | null {
  const path = file !== null && existsSync(file) ? file : findExisting(folder)
  const isFolder = path === file || statSync(path).isDirectory()
  const reason = !isFolder ? 'it is no folder' : user === null ? tryAccess(path) : tryAccessAs(user, path)
  if (reason === null) return null
  const by = user === null ? '' : ` by ${user}`
  const where = path === folder || path === file ? path : `${folder} (below ${path})`
  return `${setting}: ${where} cannot be written${by} (${reason})`
}

function findExisting(folder: string): string {
  return existsSync(folder) ? folder : findExisting(dirname(folder))
}

function tryAccess(path: string): string | null {
  try {
    accessSync(path, constants.W_OK)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

/** Tests as that user: only root can switch users, and only the kernel knows every rule. */
function tryAccessAs(user: string, path: string): string | null {
  const command = Bun.which('runuser')
    ? ['runuser', '-u', user, '--', 'test', '-w', path]
    : ['su', '-s', '/bin/sh', user, '-c', `test -w '${path.replaceAll("'", `'\\''`)}'`]
  const { success, stderr } = Bun.spawnSync(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  return success ? null : stderr.toString().trim() || `chown ${user} ${path}`
}

/** Returns the settings whose folders are read-only under a unit with these writable paths. */
export function listUncovered(paths: readonly WritePath[], writable: readonly string[]): WritePath[] {
  return paths.filter(({ folder }) => !writable.some((parent) => isWithin(parent, folder)))
}

/**
 * Returns one sentence for each setting whose folder this process cannot write. systemd keeps folders that the unit
 * does not name read-only.
 */
export function listOwnProblems(settings: PathSettings, isUnderSystemd: boolean): string[] {
  return listWritePaths(settings).flatMap((path) => {
    const problem = findUnwritable(path)
    if (problem === null) return []
    return isUnderSystemd && problem.includes('EROFS') ? describeUncovered(path) : problem
  })
}

/** Explains that the unit is older than the setting, and how to renew it. */
export function describeUncovered(
  { setting, folder }: Pick<WritePath, 'setting' | 'folder'>,
  isOfUser = false,
): string {
  const command = isOfUser ? 'stead service install --user' : 'sudo stead service install'
  return `${setting}: ${folder} is read-only for the installed service: ${command} adds it to the unit`
}

/** Removes duplicate and nested folders. */
export function toFolders(paths: readonly WritePath[]): string[] {
  const folders = [...new Set(paths.map(({ folder }) => folder))].sort()
  return folders.filter((folder) => !folders.some((other) => other !== folder && isWithin(other, folder)))
}
