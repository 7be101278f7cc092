import { sql } from 'drizzle-orm'
import type { Db } from '../../src/db/open.ts'
import { write } from '../../src/db/write.ts'

/** Remembers every row of every table now; what it returns puts them all back. */
export async function rememberRows(db: Db): Promise<() => Promise<void>> {
  const counted = sql`select tbl_name from sqlite_master where type = 'trigger'`
  const tables = db
    .select({
      name: sql<string>`name`,
      isCounted: sql<number>`name in (${counted})`,
      isFigure: sql<number>`exists (select 1 from sqlite_master as other where other.type = 'trigger'
        and other.tbl_name <> sqlite_master.name
        and (instr(other.sql, 'INTO ' || sqlite_master.name || ' ') or instr(other.sql, 'UPDATE ' || sqlite_master.name || ' ')))`,
    })
    .from(sql`sqlite_master`)
    .where(sql`type = 'table' and name not like 'sqlite_%'`)
    .all()
    // Figures that triggers keep come after what they count.
    .sort((one, other) => one.isFigure - other.isFigure || other.isCounted - one.isCounted)
    .map(({ name, isFigure }) => ({
      isFigure,
      name: sql.identifier(name),
      copy: sql.identifier(`copy_of_${name}`),
      isEmpty:
        db
          .select({ one: sql`1` })
          .from(sql`${sql.identifier(name)}`)
          .limit(1)
          .get() === undefined,
    }))
  const filled = tables.filter(({ isEmpty }) => !isEmpty)
  // They keep people from doing what this does.
  const guards = db
    .select({ name: sql<string>`name` })
    .from(sql`sqlite_master`)
    .where(sql`type = 'trigger' and sql like '%RAISE(ABORT%'`)
    .all()
  await write(db, (tx) => {
    for (const { name } of guards) tx.run(sql`drop trigger ${sql.identifier(name)}`)
    for (const { name, copy } of filled) tx.run(sql`create temp table ${copy} as select * from main.${name}`)
  })
  return () =>
    write(db, (tx) => {
      // Rows come back in any order; they refer to one another only when all are there.
      tx.run(sql`pragma defer_foreign_keys = on`)
      for (const { name } of tables) tx.run(sql`delete from main.${name}`)
      for (const { name, copy, isEmpty, isFigure } of tables) {
        // Triggers have counted again what came back.
        if (isFigure) tx.run(sql`delete from main.${name}`)
        if (!isEmpty) tx.run(sql`insert into main.${name} select * from temp.${copy}`)
      }
    })
}

/** How many rows were ever written, changed and deleted: when it stays the same, so has every row. */
export function countChanges(db: Db): number {
  return db.select({ changes: sql<number>`total_changes()` }).from(sql`(select 1)`).get()?.changes ?? 0
}
