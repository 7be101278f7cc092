import type { Config } from '../../core/config.ts'
import type { Connection } from '../../db/open.ts'

type HouseSettings = Pick<Config, 'retentionDays'>

/** Opens what the rooms of the house share. `connection` is for what is done to the file itself, between writes. */
export function openHouse({ retentionDays }: HouseSettings, connection: Connection) {
  return { connection, retentionDays }
}
