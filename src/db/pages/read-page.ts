/** `last` is the row after which the next page starts, null on the last page. */
export type Page<Row> = { rows: Row[]; hasMore: boolean; last: Row | null }

type Selection<Row> = { limit(rows: number): { all(): Row[] } }

/** Reads at most `limit` rows, and one more to know whether there is a next page. */
export function readPage<Row>(selection: Selection<Row>, limit: number): Page<Row> {
  const found = selection.limit(limit + 1).all()
  const rows = found.slice(0, limit)
  const hasMore = found.length > limit
  return { rows, hasMore, last: hasMore ? (rows.at(-1) ?? null) : null }
}
