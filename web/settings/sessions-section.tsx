import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionList } from '../../src/features/accounts/sessions/schemas.ts'
import { messageFor } from '../api/request.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { deviceName } from './device-name.ts'
import { endOtherSessions, endSession, sessionsQuery } from './settings-api.ts'

export function SessionsSection() {
  const query = useQuery(sessionsQuery)
  const hasOthers = query.data?.some(({ current }) => !current) ?? false
  return (
    <Section
      title="Sessions"
      lead="If you do not recognize a session, end it and change your password."
      actions={hasOthers && <EndOthers />}
    >
      <Loaded
        query={query}
        what="sessions"
        placeholder={
          <LoadingShapes what="sessions" className="grid gap-3">
            <Skeleton className="h-10" />
            <Skeleton className="h-10" />
          </LoadingShapes>
        }
      >
        {(sessions) => (
          <ul aria-label="Sessions" className="-my-3 divide-y divide-line">
            {sessions.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}

function SessionRow({ session }: { session: SessionList['sessions'][number] }) {
  const ending = useEnd(() => endSession(session.id))
  const name = deviceName(session.userAgent)
  return (
    <li className="grid grid-cols-1 gap-2 py-3">
      <div className="flex items-center gap-3">
        <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
          <p
            className="flex flex-wrap items-center gap-x-2.5 gap-y-1 font-medium"
            title={session.userAgent ?? undefined}
          >
            {name}
            {session.current && <Badge tone="good">This browser</Badge>}
          </p>
          <p className="flex flex-wrap gap-x-3 text-sm text-muted">
            {session.address && <span className="break-all">{session.address}</span>}
            <span>
              Last used <Moment at={session.lastSeen} as="distance" />
            </span>
            <span>
              Signed in <Moment at={session.createdAt} />
            </span>
          </p>
        </div>
        {!session.current && (
          <Button aria-label={`Sign out ${name}`} isPending={ending.isPending} onClick={() => ending.mutate()}>
            Sign out
          </Button>
        )}
      </div>
      {ending.isError && <Notice tone="problem">{messageFor(ending.error)}</Notice>}
    </li>
  )
}

function EndOthers() {
  const [isAsking, setAsking] = useState(false)
  const ending = useEnd(endOtherSessions)
  return (
    <>
      <Button onClick={() => setAsking(true)}>Sign out all others</Button>
      {isAsking && (
        <AskDialog
          title="Sign out all other sessions?"
          lead="Only this session stays signed in."
          verb="Sign out all others"
          isPending={ending.isPending}
          error={ending.error}
          onConfirm={() => ending.mutate(undefined, { onSuccess: () => setAsking(false) })}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

function useEnd(mutationFn: () => Promise<unknown>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn,
    onSettled: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  })
}
