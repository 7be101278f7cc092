import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { z } from 'zod'
import { ResetPasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import { forgetSession } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { CheckField, PasswordField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { resetPassword } from './session.ts'

const route = getRouteApi('/reset-password')

/** A checked box is `on` in form data; an unchecked one is absent. */
const WithTick = ResetPasswordRequest.extend({
  endKeys: z
    .literal('on')
    .optional()
    .transform((tick) => tick === 'on'),
})

/** Page `/reset-password?token=`. */
export function ResetPasswordPage() {
  const { token } = route.useSearch()
  return (
    <AuthFrame
      title="Reset your password"
      lead="All sessions are signed out. Sign in with the new password afterwards."
    >
      {token ? (
        <ResetForm token={token} />
      ) : (
        <Notice tone="problem" title="Incomplete link">
          <p>Open the full link from the email, or request a new one.</p>
          <NewLink />
        </Notice>
      )}
    </AuthFrame>
  )
}

function ResetForm({ token }: { token: string }) {
  const navigate = useNavigate()
  const form = useForm(
    WithTick,
    async (body) => {
      await resetPassword(body)
      forgetSession()
      await navigate({ to: '/login', search: { done: 'reset' }, replace: true })
    },
    fieldOf,
  )
  const isLinkDead = form.problem?.fields.token !== undefined
  return (
    <Form form={form} className="grid gap-4">
      {isLinkDead && (
        <Notice tone="problem" title="This link has expired">
          <p>Reset links work once and expire after one hour.</p>
          <NewLink />
        </Notice>
      )}
      <input type="hidden" name="token" value={token} />
      <PasswordField
        label="New password"
        name="password"
        autoComplete="new-password"
        autoFocus
        hint="At least 8 characters."
      />
      <CheckField
        label="Revoke my API keys"
        name="endKeys"
        hint="Recommended if someone else may have had access to your account."
      />
      <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
        Save password
      </Button>
    </Form>
  )
}

function NewLink() {
  return (
    <Link to="/forgot-password" className={`${buttonClass('plain')} justify-self-start`}>
      Request a new link
    </Link>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (/link/i.test(error.message)) return 'token'
  return error.status === 400 ? 'password' : null
}
