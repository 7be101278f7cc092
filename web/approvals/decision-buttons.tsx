import { useMutation } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice } from '../ui/notice.tsx'

type DecisionProps = {
  /** Names the request for screen readers. */
  what: string
  expiresAt: string | null
  decide: (verb: 'approve' | 'deny') => Promise<unknown>
}

/** Buttons to approve or deny a request that waits for its owner. */
export function DecisionButtons({ what, expiresAt, decide }: DecisionProps) {
  const decision = useMutation({ mutationFn: decide })
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button
        look="primary"
        aria-label={`Approve ${what}`}
        isPending={decision.isPending}
        onClick={() => decision.mutate('approve')}
      >
        Approve
      </Button>
      <Button aria-label={`Deny ${what}`} isPending={decision.isPending} onClick={() => decision.mutate('deny')}>
        Deny
      </Button>
      {expiresAt && (
        <span className="text-sm text-muted">
          Expires <Moment at={expiresAt} as="distance" /> (denied)
        </span>
      )}
      <ErrorNotice error={decision.error} />
    </div>
  )
}
