/** `last` is the row behind which the next page begins, null on the last page. */
export type Page<Row> = { rows: Row[]; hasMore: boolean; last: Row | null }

type Selection<Row> = { limit(rows: number): { all(): Row[] } }

/** At most `limit` rows of a selection: one more is asked for, which tells whether there is another page. */
export function readPage<Row>(selection: Selection<Row>, limit: number): Page<Row> {
  const found = selection.limit(limit + 1).all()
  const rows = found.slice(0, limit)
  const hasMore = found.length > limit
  return { rows, hasMore, last: hasMore ? (rows.at(-1) ?? null) : null }
}
