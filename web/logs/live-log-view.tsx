import { ArrowDown } from 'lucide-react'
import { memo, useMemo, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { LoadProblem } from '../ui/notice.tsx'
import { useStickyScroll } from '../ui/sticky-scroll.ts'
import { type LogConnection, useLiveLog } from './live-log.ts'
import { LogBox } from './log-box.tsx'
import { filterLines, type LiveLine, MAX_LINES } from './log-lines.ts'

type LiveLogProps = { agentId: string; filter: string; isPaused: boolean; onFollow: () => void }

const words: Record<LogConnection, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  interrupted: 'Interrupted, reconnecting…',
  refused: 'Not connected',
}

/** The newest lines as they are written. Who scrolls up reads in peace: the view stands still until they come back. */
export function LiveLog({ agentId, filter, isPaused, onFollow }: LiveLogProps) {
  const [isReading, setReading] = useState(false)
  const { lines, waiting, connection, error, again } = useLiveLog(agentId, isPaused || isReading)
  const shown = useMemo(() => filterLines(lines, filter), [lines, filter])
  const { boxRef, isAway, onScroll, jumpToEnd } = useStickyScroll(shown, undefined)
  if (isAway !== isReading) setReading(isAway)
  const follow = () => {
    jumpToEnd()
    onFollow()
  }
  return (
    <>
      <div className="relative flex min-h-0 flex-1 flex-col">
        <LogBox label="Live log" boxRef={boxRef} onScroll={onScroll}>
          {error !== null && (
            <div className="p-4 font-sans">
              <LoadProblem what="The log" error={error} onRetry={again} />
            </div>
          )}
          {shown.length === 0 && error === null && (
            <p className="px-3 py-6 font-sans text-muted sm:px-6">{describeEmptiness(connection, lines.length)}</p>
          )}
          {shown.map((line) => (
            <Line key={line.id} line={line} />
          ))}
        </LogBox>
        {(isAway || (isPaused && waiting > 0)) && (
          <Button className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lifted" onClick={follow}>
            <ArrowDown aria-hidden className="size-4" />
            {waiting > 0 ? `${waiting}${waiting >= MAX_LINES ? ' or more' : ''} new` : 'Latest'}
          </Button>
        )}
      </div>
      <p className="flex items-center justify-between gap-3 border-t border-line px-3 py-1.5 text-xs text-muted sm:px-6">
        <span role="status" className="inline-flex items-center gap-1.5">
          <span
            aria-hidden
            className={`size-1.5 rounded-full ${connection === 'live' ? 'bg-accent' : 'border-[1.5px] border-current'}`}
          />
          {isPaused && connection === 'live' ? 'Paused' : words[connection]}
        </span>
        <span className="tabular-nums">
          {filter ? `${shown.length} of ${lines.length} lines` : `${lines.length} lines`}
        </span>
      </p>
    </>
  )
}

const Line = memo(({ line }: { line: LiveLine }) =>
  line.isNote ? (
    <p className="border-y border-line bg-sunken px-3 py-0.5 font-sans text-muted sm:px-6">{line.text}</p>
  ) : (
    <p className="min-h-5 px-3 whitespace-pre-wrap wrap-anywhere sm:px-6">{line.text}</p>
  ),
)

function describeEmptiness(connection: LogConnection, known: number): string {
  if (known > 0) return 'No line has this text. Older ones are in the history.'
  return connection === 'live' ? 'It has written nothing yet. New lines appear here.' : 'Connecting to the log…'
}
