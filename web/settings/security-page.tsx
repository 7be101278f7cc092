import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { ChangePasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import type { SessionList } from '../../src/features/accounts/sessions/schemas.ts'
import type { Settings } from '../../src/features/accounts/settings/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { keysQuery } from '../keys/keys-api.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, PasswordField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { deviceName } from './device-name.ts'
import { changePassword, endOtherSessions, endSession, settingsQuery, signInSessionsQuery } from './settings-api.ts'
import { SettingsFrame, WithSettings } from './settings-frame.tsx'
import { TwoFactorSection } from './two-factor-section.tsx'

/** Page `/settings/security`. */
export function SecurityPage() {
  return (
    <SettingsFrame title="Security" lead="Password, two-factor authentication and active sessions">
      <WithSettings>
        {(settings) => (
          <>
            <PasswordSection settings={settings} />
            <TwoFactorSection settings={settings} />
          </>
        )}
      </WithSettings>
      <SessionsSection />
    </SettingsFrame>
  )
}

/** A checked box is `on` in form data; an unchecked one is absent. */
const WithTick = ChangePasswordRequest.extend({
  endKeys: z
    .literal('on')
    .optional()
    .transform((tick) => tick === 'on'),
})
/** The server accepts an absent current password for accounts without one; an empty field is a mistake. */
const WithCurrent = WithTick.extend({ currentPassword: z.string().min(1).max(1024) })

export function PasswordSection({ settings }: { settings: Settings }) {
  const keys = useQuery(keysQuery).data?.length ?? 0
  const form = useForm<ChangePasswordRequest>(
    settings.hasPassword ? WithCurrent : WithTick,
    async (change) => {
      await changePassword(change)
      form.formRef.current?.reset()
      await Promise.all([refresh(settingsQuery), refresh(keysQuery)])
    },
    fieldOf,
  )
  return (
    <Section
      title="Password"
      lead={
        settings.hasPassword
          ? 'Changing the password ends all other sessions.'
          : 'This account has no password yet. Set one to sign in with your email.'
      }
    >
      <Form
        form={form}
        verb={settings.hasPassword ? 'Change password' : 'Set password'}
        className="grid max-w-md grid-cols-1 gap-4"
      >
        {form.isDone && <Notice tone="good">Password changed. All other sessions are signed out.</Notice>}
        {/* Password managers store the new password under this name. */}
        <input type="text" name="username" autoComplete="username" value={settings.email} readOnly hidden />
        {settings.hasPassword && (
          <PasswordField label="Current password" name="currentPassword" autoComplete="current-password" />
        )}
        <PasswordField
          label="New password"
          name="newPassword"
          autoComplete="new-password"
          hint="At least 8 characters."
        />
        {keys > 0 && (
          <CheckField
            label={keys === 1 ? 'Revoke my API key' : `Revoke my ${keys} API keys`}
            name="endKeys"
            hint="Recommended if someone else may know the password. Requests with revoked keys are rejected."
          />
        )}
      </Form>
    </Section>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (/^current password/i.test(error.message)) return 'currentPassword'
  return /password/i.test(error.message) ? 'newPassword' : null
}

export function SessionsSection() {
  const query = useQuery(signInSessionsQuery)
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
      <ErrorNotice error={ending.error} />
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
        <ConfirmDialog
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
  return useMutation({ mutationFn, onSettled: () => refresh(signInSessionsQuery) })
}
