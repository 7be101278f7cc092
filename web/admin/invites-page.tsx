import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedInvite, Invite, InviteList } from '../../src/features/accounts/invites/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { SelectField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, Notice } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { createInvite, invitesQuery, withdrawInvite } from './oversight-api.ts'
import { LoadingRows } from './paging.tsx'
import { DefaultPlanOption, PlanOptions, toPlanLabel } from './plan-options.tsx'

const WORDS: Record<InviteList['signUp'], string | null> = {
  invite: null,
  open: 'Anyone can sign up without an invitation. Set SIGN_UP=invite to require one.',
  closed: 'Sign-up is closed, with or without an invitation. Set SIGN_UP=invite to allow invited users.',
}

/** Page `/admin/invites`. */
export function InvitesPage() {
  const query = useQuery(invitesQuery)
  return (
    <AdminFrame title="Invitations" lead="Each invitation creates one account. The newest 100 are listed.">
      <Loaded query={query} what="invitations" placeholder={<LoadingRows what="invitations" />}>
        {({ invites, signUp }) => (
          <>
            {WORDS[signUp] && <Notice tone="note">{WORDS[signUp]}</Notice>}
            <NewInvite />
            <Invites invites={invites} />
          </>
        )}
      </Loaded>
    </AdminFrame>
  )
}

function NewInvite() {
  const [plan, setPlan] = useState('')
  const making = useMutation({ mutationFn: () => createInvite(plan), onSettled: () => refresh(invitesQuery) })
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-end gap-3">
        <SelectField label="Plan of the new account" value={plan} onChange={(event) => setPlan(event.target.value)}>
          <DefaultPlanOption />
          <PlanOptions />
        </SelectField>
        <Button look="primary" isPending={making.isPending} onClick={() => making.mutate()}>
          Create invitation
        </Button>
      </div>
      <ErrorNotice error={making.error} />
      {making.data && <Created invite={making.data} />}
    </div>
  )
}

function Created({ invite: { url } }: { invite: CreatedInvite }) {
  return (
    <Notice tone="good" title="Send this link to the person you invite">
      <p>The link is shown only once and creates one account.</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-60 rounded-md bg-surface px-3 py-2 text-sm break-all">{url}</code>
        <CopyButton text={url} what="invitation link" />
      </div>
    </Notice>
  )
}

function Invites({ invites }: { invites: Invite[] }) {
  if (invites.length === 0)
    return <Empty title="No invitations yet">Create an invitation link and send it to a new user.</Empty>
  return (
    <ul aria-label="Invitations" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {invites.map((invite) => (
        <InviteRow key={invite.id} invite={invite} />
      ))}
    </ul>
  )
}

function InviteRow({ invite: { id, createdBy, createdAt, usedAt, plan } }: { invite: Invite }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <li className="flex items-center gap-3 px-3 py-3 sm:px-4">
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-mono text-sm font-medium break-all">{id}</span>
          {usedAt ? <Badge>Used</Badge> : <Badge tone="good">Open</Badge>}
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span className="break-all">By {createdBy}</span>
          {plan !== null && <span>{plan === 'free' ? 'No plan' : `Plan ${toPlanLabel(plan)}`}</span>}
          <span>
            Created <Moment at={createdAt} as="minute" />
          </span>
          {usedAt && (
            <span>
              Used <Moment at={usedAt} as="minute" />
            </span>
          )}
        </p>
      </div>
      {!usedAt && (
        <Button aria-label={`Revoke ${id}`} onClick={() => setAsking(true)}>
          Revoke
        </Button>
      )}
      {isAsking && <WithdrawDialog id={id} onClose={() => setAsking(false)} />}
    </li>
  )
}

function WithdrawDialog({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <ConfirmDialog
      title="Revoke this invitation?"
      lead="The link can no longer be used to create an account."
      verb="Revoke"
      run={async () => {
        await withdrawInvite(id)
        await refresh(invitesQuery)
      }}
      onClose={onClose}
    />
  )
}
