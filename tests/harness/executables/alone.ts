import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InstallationOptions, openInstallation } from '../server.ts'
import { tempFolder } from '../temp-folder.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')

/**
 * Creates an installation with only a copy of the executable `built`; the checkout is hidden where mounting is allowed.
 */
export async function openStandalone(built: string, options: InstallationOptions = {}) {
  const folder = tempFolder()
  const executable = folder.file('stead')
  copyFileSync(built, executable)
  chmodSync(executable, 0o755)
  const installation = await openInstallation({
    ...options,
    command: toCommand(executable),
    cwd: folder.path,
    isEmpty: true,
    environment: { ...options.environment, PATH: '/usr/bin:/bin' },
  })
  return {
    ...installation,
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** Mounts an empty folder over the checkout where mounting is allowed. */
function toCommand(executable: string): readonly [string, ...string[]] {
  const hide = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none "$0" && exec "$@"', ROOT] as const
  const canHide = Bun.spawnSync([...hide, 'true'], { stderr: 'ignore' }).exitCode === 0
  return canHide ? [...hide, executable] : [executable]
}
