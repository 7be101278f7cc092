import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const FILE = 'server.json'
const ServerAddress = z.object({ web: z.string(), backend: z.string() })
/** Addresses of the running server on this machine. */
type ServerAddress = z.infer<typeof ServerAddress>

/** Writes the server's addresses to the data folder for CLI commands. @returns a function that deletes the file. */
export function noteServerAddress(dataDir: string, { web, backend }: ServerAddress): () => void {
  const file = join(dataDir, FILE)
  writeFileSync(file, `${JSON.stringify({ web, backend })}\n`, { mode: 0o600 })
  return () => rmSync(file, { force: true })
}

/** Returns the stored addresses, or null. A killed server leaves the file behind; `isServed` checks. */
export function findServerAddress(dataDir: string): ServerAddress | null {
  try {
    return ServerAddress.parse(JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')))
  } catch {
    return null
  }
}
