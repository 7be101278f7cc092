import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const FILE = 'server.json'
const ServerAddress = z.object({ web: z.string(), backend: z.string() })
/** Where the service on a data folder answers on this machine. */
export type ServerAddress = z.infer<typeof ServerAddress>

/** Writes down where the service answers, for commands beside it. What is returned takes the note away. */
export function noteServerAddress(dataDir: string, { web, backend }: ServerAddress): () => void {
  const file = join(dataDir, FILE)
  writeFileSync(file, `${JSON.stringify({ web, backend })}\n`, { mode: 0o600 })
  return () => rmSync(file, { force: true })
}

/** Null where no service has noted any. A killed service leaves its note behind: `isServed` knows better. */
export function findServerAddress(dataDir: string): ServerAddress | null {
  try {
    return ServerAddress.parse(JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')))
  } catch {
    return null
  }
}
