import type Database from 'better-sqlite3'

/** A trigger: `event` such as `AFTER INSERT ON messages`; `body` runs for each row for which `when` holds. */
export type Trigger = { name: string; event: string; when?: string; body: string }

/** Counters maintained by triggers, so no query has to count rows. `recount` rebuilds them from the rows. */
export type KeptFigures = {
  /** Creates target tables that are not part of the schema. */
  tables?: readonly string[]
  triggers: readonly Trigger[]
  recount: readonly string[]
}

/**
 * Creates the triggers, and rebuilds the counters when a trigger was missing or different: at the first start with it,
 * and after a migration that rebuilt its table.
 */
export function keepFigures(sqlite: Database.Database, figures: KeptFigures): void {
  const find = sqlite
    .prepare<[string], string>("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?")
    .pluck()
  const wanted = figures.triggers.map(({ name, event, when, body }) => ({
    name,
    sql: `CREATE TRIGGER ${name} ${event} FOR EACH ROW ${when ? `WHEN ${when} ` : ''}BEGIN ${body} END`,
  }))
  if (wanted.every(({ name, sql }) => find.get(name) === sql)) return
  sqlite.transaction(() => {
    for (const sql of figures.tables ?? []) sqlite.exec(sql)
    for (const { name, sql } of wanted) sqlite.exec(`DROP TRIGGER IF EXISTS ${name}; ${sql}`)
    for (const sql of figures.recount) sqlite.exec(sql)
  })()
}
