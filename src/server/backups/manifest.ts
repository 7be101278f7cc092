import { z } from 'zod'
import { AgentSpec, RUNTIMES } from '../../adapters/runtimes/contract/runtime.ts'

/** The entries of a backup that are not listed in its manifest: the manifest itself and its SHA-256. */
export const MANIFEST = 'manifest.json'
export const MANIFEST_SUM = 'manifest.json.sha256'
export const DATABASE = 'data/stead.db.gz'
export const INSTANCE = 'data/instance.id'
export const KEY = 'data/encryption.key'

/** Folders of the data folder that hold what users have stored, besides the agents' own. */
export const FOLDERS = ['workspace', 'videos'] as const

/** No other path is ever written or restored: a backup may come from anywhere. */
const Path = z.union([
  z.string().regex(/^data\/(?:stead\.db\.gz|instance\.id|webhook\.key|encryption\.key(?:\.until-[0-9TZ]+)?)$/),
  z.enum(FOLDERS.map((name) => `data/${name}.tar.gz` as const)),
  z.string().regex(/^agents\/[a-z0-9][a-z0-9-]{0,40}\.tar\.gz$/),
])

/** An entry of the archive; `bytes` and `sha256` are of what stands in it, compressed or not. */
const BackupFile = z.object({
  path: Path,
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type BackupFile = z.infer<typeof BackupFile>

/**
 * `whole`: as it was at one moment. `moving`: each file is whole, but the agent went on writing while they were read.
 * `none`: it had stored nothing. `missing`: it could not be read, and `reason` says why.
 */
const STATES = ['whole', 'moving', 'none', 'missing'] as const

const BackupAgent = z.object({
  id: AgentSpec.shape.id,
  name: z.string(),
  runtime: z.enum(RUNTIMES).nullable(),
  state: z.enum(STATES),
  reason: z.string().nullable(),
})
export type BackupAgent = z.infer<typeof BackupAgent>

/**
 * What a backup holds. `schema.version` is the number of migrations of its database and `schema.migration` the last of them.
 * `key` is `kept` when the encryption key is in it, `given` when that was a setting, and `none` when there was none yet.
 */
export const Manifest = z.object({
  format: z.literal('stead-backup'),
  formatVersion: z.literal(1),
  createdAt: z.iso.datetime(),
  stead: z.string(),
  instance: z.string(),
  schema: z.object({ version: z.number().int(), migration: z.string().nullable() }),
  /** Of the database before it is packed; unknown in older backups. */
  databaseBytes: z.number().int().nonnegative().optional(),
  key: z.enum(['kept', 'given', 'none']),
  files: z.array(BackupFile),
  agents: z.array(BackupAgent),
})
export type Manifest = z.infer<typeof Manifest>

/** Where the state of an agent stands in a backup. */
export function toAgentPath(id: string): string {
  return `agents/${id}.tar.gz`
}
