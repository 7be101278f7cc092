import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type PairingResult, pairWithPlatform } from '../../adapters/platform/client.ts'
import { errorMessage, StartupError } from '../../core/errors.ts'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { sha256 } from '../../core/secrets.ts'

const FILE = 'machine.json'

/** Credentials of this machine, as a pairing code was exchanged for them. */
const Stored = z.object({
  platform: z.string(),
  codeHash: z.string(),
  installationId: z.string(),
  agentId: z.string(),
  userId: z.string(),
  name: z.string(),
  token: z.string(),
})
export type MachineCredentials = z.infer<typeof Stored>

/** Returns the credentials of an earlier pairing in `folder`; null without any. @throws StartupError */
export function findCredentials(folder: string): MachineCredentials | null {
  const path = join(folder, FILE)
  try {
    return Stored.parse(parseBoundedJson(readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new StartupError(`${path}: cannot be read (${errorMessage(error)}); delete it and pair again`, {
      cause: error,
    })
  }
}

/**
 * Exchanges a code for credentials and stores them in `folder`, readable by its owner only. A code that was exchanged
 * here before is not sent again, so a service may keep it in its command.
 * @throws AppError as the platform, StartupError when the folder cannot be written.
 */
export async function pair(
  folder: string,
  platform: string,
  code: string,
  machine: { mode: 'home' | 'link'; name: string; version: string; agentKind: 'stead' | 'openclaw' },
  signal: AbortSignal,
): Promise<MachineCredentials> {
  const codeHash = sha256(code.toUpperCase().replace(/[\s-]/g, ''))
  const known = findCredentials(folder)
  if (known?.codeHash === codeHash && known.platform === platform) return known
  const path = join(folder, FILE)
  requireWritable(folder)
  const paired: PairingResult = await pairWithPlatform({ baseUrl: platform, fetch }, { code, ...machine }, signal)
  const { installationId, agentId, userId, name, token } = paired
  const credentials = { platform, codeHash, installationId, agentId, userId, name, token }
  // Renamed into place: a crash while writing must not cost the credentials, because the code is used up.
  writeFileSync(`${path}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
  return credentials
}

/** The code can be used once, so the folder is checked before. @throws StartupError */
function requireWritable(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, `${FILE}.new`), '', { mode: 0o600 })
  } catch (error) {
    throw new StartupError(`--dir: ${folder} cannot be written (${errorMessage(error)})`, { cause: error })
  }
}
