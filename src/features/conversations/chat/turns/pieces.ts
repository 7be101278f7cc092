import { errorMessage } from '../../../../core/errors.ts'
import type { Log } from '../../../../core/log.ts'
import type { Db } from '../../../../db/open.ts'
import { write } from '../../../../db/write.ts'
import type { TurnRow } from '../tables.ts'
import type { FigureCollector } from './figures.ts'
import type { TurnLog } from './log.ts'
import { keepPieces } from './store.ts'

/** What was said is on disk after so long at most: many small pieces share one write. */
const KEEP_MS = 200

type KeptTurn = { turn: TurnRow; log: TurnLog; figures: FigureCollector }

/** Keeps what is added to the log of a turn: `note` is to be called when something was. Either of the others ends it. */
export function createPieceKeeper(deps: { db: Db; log: Log }, { turn, log, figures }: KeptTurn) {
  const turnId = turn.id
  let kept = log.end
  let timer: Timer | undefined
  let writing = Promise.resolve()

  const keep = async () => {
    const events = log.readAfter(kept)
    const last = events.at(-1)
    if (!last) return
    await write(deps.db, (tx) => keepPieces(tx, turnId, events, figures.read()))
    kept = last.end
  }
  const keepSoon = () => {
    timer = undefined
    writing = writing.then(keep).catch((error) => {
      deps.log.warn(
        { turn: turnId, error: errorMessage(error) },
        'what an agent says could not be kept; it is tried again',
      )
    })
  }
  return {
    note() {
      timer ??= setTimeout(keepSoon, KEEP_MS)
    },
    async stop() {
      clearTimeout(timer)
      await writing
    },
    async keepRest() {
      clearTimeout(timer)
      keepSoon()
      await writing
    },
  }
}
