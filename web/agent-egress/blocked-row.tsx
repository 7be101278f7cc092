import type { BlockedDestination } from '../../src/features/agents/egress/schemas.ts'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import type { useAllow } from './egress-api.ts'

const reasons: Readonly<Record<BlockedDestination['reason'], string | null>> = {
  policy: null,
  address: 'private or reserved address',
  name: 'TLS asked for another host',
  request: 'malformed request',
}

type BlockedRowProps = { blocked: BlockedDestination; allow: ReturnType<typeof useAllow> }

/** A refused destination, with a button that allows it. */
export function BlockedRow({ blocked, allow }: BlockedRowProps) {
  const { host, port, reason, count, lastAt } = blocked
  const destination = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
      <span className="min-w-0 wrap-anywhere">
        <span className="text-muted">Blocked</span> {destination}
        {reasons[reason] && <span className="text-muted"> ({reasons[reason]})</span>}
      </span>
      <span className="flex items-center gap-3 text-muted">
        <span>
          {count > 1 && `${count} times, last `}
          <Moment at={lastAt} as="distance" />
        </span>
        {reason === 'policy' && (
          <Button
            aria-label={`Allow ${destination}`}
            isPending={allow.isPending && allow.variables === destination}
            disabled={allow.isPending}
            onClick={() => allow.mutate(destination)}
          >
            Allow
          </Button>
        )}
      </span>
    </li>
  )
}
