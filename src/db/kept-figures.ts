import type Database from 'better-sqlite3'

/** One trigger: `event` is such as `AFTER INSERT ON messages`, `body` what it does for each row of which `when` holds. */
export type Trigger = { name: string; event: string; when?: string; body: string }

/**
 * Figures that are counted with each row that comes, changes or goes, whoever writes it and whatever it goes with, so that
 * nobody has to count rows. `recount` makes them anew from the rows.
 */
export type KeptFigures = {
  /** Makes what the triggers write to, where it is no table of the schema. */
  tables?: readonly string[]
  triggers: readonly Trigger[]
  recount: readonly string[]
}

/**
 * Sets the triggers up, and counts anew when one of them was not there as it is now: with the first start that knows it,
 * and after a migration that made its table anew.
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
